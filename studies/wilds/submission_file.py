"""A prediction file of WILDS: what its name says, and its rows as answers, each checked against the data set."""

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from oochub.errors import OochubError, unknown_name
from oochub.exchange.answers_file import AnswersFile
from oochub.stats.image_boxes import detection_accuracies
from oochub.storage.reading import parse_json, parse_plain_number, read_lines

_NAME = re.compile(
    r"(?P<data_set>[a-z0-9-]+)_split:(?P<split>[a-z_]+)_(?P<replicate>seed:[0-9]{1,9}|fold:[A-E])_epoch:best_pred"
    r"(?P<suffix>\.[a-z]+)"
)
_FORM = "iwildcam_split:test_seed:0_epoch:best_pred.csv"
_COLUMNS = {"classes": "prediction", "number": "value", "labels": "logits", "tokens": "predicted_tokens"}
_BRACKETS = str.maketrans("", "", "[]()")  # as WILDS, which evaluates each line
_TOKENS = 2**31


@dataclass(frozen=True, kw_only=True)
class SubmissionFile:
    """The predictions of one model for one split of a data set, in the form of WILDS' leaderboard.

    A row of the split is a line, in the order of the raw table, and there is no head: of classes a whole number; of a
    number that number; of labels and of tokens a number each, with commas between. Boxes are JSON, {"boxes": [[x1, y1,
    x2, y2], ...], "scores": [...]} a line, for WILDS' own form is a pickle, which can run any code.

    Source: `examples/evaluate.py` and `save_pred` of `examples/utils.py` of WILDS 2.0.0.

    Attributes:
        path: The file.
        data_set: Name of the data set as in WILDS: "iwildcam", "ogb-molpcba".
        split: One of its official splits.
        replicate: "seed:0", or of PovertyMap "fold:A".
    """

    path: Path
    data_set: str
    split: str
    replicate: str

    @classmethod
    def of(cls, path: Path, known: Sequence[str]) -> "SubmissionFile":
        """What the name of a file says.

        Args:
            path: The file; it is not opened.
            known: The configs of `wilds`.

        Raises:
            OochubError: Another name, a data set that is unknown, a pickle.

        >>> SubmissionFile.of(Path("poverty_split:val_fold:B_epoch:best_pred.csv"), ["poverty_fold_b"]).config
        'poverty_fold_b'
        """
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise OochubError(f"{path.name} is not the name of a prediction file, such as {_FORM}. Rename the file.")
        if match["suffix"] == ".pth":
            raise OochubError(
                f"{path} is a pickle, which can run any code when it is opened. Write it as JSON lines, *_pred.jsonl, "
                'one line per image: {"boxes": [[x1, y1, x2, y2], ...], "scores": [...]}.'
            )
        if match["suffix"] not in (".csv", ".jsonl"):
            raise OochubError(f"{path}: a prediction file must be .csv, or .jsonl for boxes, got {match['suffix']}.")
        file = cls(path=path, data_set=match["data_set"], split=match["split"], replicate=match["replicate"])
        if file.config not in known:
            names = sorted({member.partition("_fold_")[0].replace("_", "-") for member in known})
            raise unknown_name("dataset of WILDS", file.data_set, names, hint=f"{path.name} is named after it.")
        return file

    @property
    def config(self) -> str:
        """The config of `wilds` that the file is of."""
        kind, _, which = self.replicate.partition(":")
        name = self.data_set.replace("-", "_")
        return f"{name}_fold_{which.lower()}" if kind == "fold" else name

    def answers(self, ids: Sequence[str], kind: str, class_names: Sequence[str]) -> AnswersFile:
        """The rows of the file, with their ids.

        Args:
            ids: The `example_id` of each row of the split (n,), in their order.
            kind: The kind of output of the data set.
            class_names: Names of the classes or labels; none for other kinds.

        Raises:
            OochubError: Too few or too many lines, or a line that is no answer; it is named.
        """
        lines = [(number, line) for number, line in enumerate(read_lines(self.path), start=1) if line.strip()]
        if len(lines) != len(ids):
            raise OochubError(self._explain_wrong_length(len(lines), ids))
        columns: dict[str, Any] = {"example_id": pa.array(list(ids), pa.string())}
        if kind == "boxes":
            columns |= self._parse_boxes(lines)
        else:
            numbers = self._parse_numbers(lines, ids, width={"labels": len(class_names), "tokens": None}.get(kind, 1))
            columns[_COLUMNS[kind]] = self._build_column(numbers, lines, kind, class_names)
        digest = hashlib.sha256("\n".join(line for _, line in lines).encode()).hexdigest()
        return AnswersFile(name=self.path.name, sha256=digest, table=pa.table(columns))

    def _explain_wrong_length(self, found: int, ids: Sequence[str]) -> str:
        if found < len(ids):
            what = f"line {found + 1}, of row {ids[found]} of the raw table, is missing"
        else:
            what = f"line {len(ids) + 1} is of no row"
        counts = f"{found:,} lines, and the split {self.split} of {self.config} {len(ids):,} rows"
        return f"{self.path} has {counts}: {what}. Write one line per row, in the order of the raw table."

    def _parse_numbers(
        self, lines: list[tuple[int, str]], ids: Sequence[str], width: int | None
    ) -> NDArray[np.float64]:
        """The numbers of each line (n, width), all finite."""
        text = "\n".join(line for _, line in lines).translate(_BRACKETS)
        width = width or 1 + text.partition("\n")[0].count(",")
        names = [str(column) for column in range(width)]
        try:
            table = csv.read_csv(
                io.BytesIO(text.encode()),
                read_options=csv.ReadOptions(column_names=names),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.float64()), null_values=[], strings_can_be_null=False
                ),
            )
            numbers = np.stack([column.to_numpy() for column in table.columns], axis=1)
        except pa.ArrowException:
            self._name_line(lines, ids, width)
        wrong = ~np.isfinite(numbers).all(axis=1)
        if len(numbers) != len(lines) or wrong.any():
            self._name_line(lines, ids, width)
        return numbers

    def _name_line(self, lines: list[tuple[int, str]], ids: Sequence[str], width: int) -> NoReturn:
        """Says which line is not a row of `width` finite numbers."""
        for (number, line), expected in zip(lines, ids, strict=True):
            numbers = [parse_plain_number(part) for part in line.translate(_BRACKETS).split(",")]
            if len(numbers) != width or not np.isfinite(numbers).all():
                wanted = "one finite number" if width == 1 else f"{width} finite numbers with commas between"
                shown = line if len(line) <= 40 else f"{line[:40]}..."
                raise OochubError(
                    f"{self.path}, line {number} (row {expected} of the raw table): it must be {wanted}, got {shown!r}."
                )
        raise OochubError(f"{self.path} is not a table of numbers. Write one line per row, without quotes.")

    def _build_column(
        self, numbers: NDArray[np.float64], lines: list[tuple[int, str]], kind: str, class_names: Sequence[str]
    ) -> pa.Array:
        """The answers as the kind of output takes them."""
        if kind == "number":
            return pa.array(numbers[:, 0])
        if kind == "labels":
            return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), numbers.shape[1])
        wrong = ~((numbers >= 0) & (numbers == np.floor(numbers))).all(axis=1)
        wrong |= (numbers >= (len(class_names) if kind == "classes" else _TOKENS)).any(axis=1)
        if wrong.any():
            number, line = lines[int(np.argmax(wrong))]
            allowed = f"a class from 0 to {len(class_names) - 1:,}" if kind == "classes" else "whole numbers below 2^31"
            raise OochubError(f"{self.path}, line {number}: it must be {allowed}, got {line[:40]!r}.")
        whole = numbers.astype(np.int64)
        if kind == "classes":
            return pa.array(whole[:, 0])
        return pa.FixedSizeListArray.from_arrays(pa.array(whole.ravel()), whole.shape[1])

    def _parse_boxes(self, lines: list[tuple[int, str]]) -> dict[str, pa.Array]:
        boxes, scores = [], []
        for number, line in lines:
            place = f"{self.path}, line {number}"
            content = parse_json(line, name=place)
            try:
                detection_accuracies([content["boxes"]], [content["scores"]], [()])
                numbers = [*content["scores"], *(number for box in content["boxes"] for number in box)]
                if not {type(number) for number in numbers} <= {int, float}:
                    raise TypeError("texts, true and false are not numbers")
            except (TypeError, KeyError, OochubError) as error:
                problem = str(error).replace(", at row 0", "").replace(" at row 0", "")
                raise OochubError(
                    f"{place}: it must be {{'boxes': a list of [x1, y1, x2, y2], 'scores': one number each}} "
                    f"({problem})."
                ) from error
            box = np.array(content["boxes"], np.float32).reshape(-1, 4)
            score = np.array(content["scores"], np.float32)
            boxes.append(box.tolist())
            scores.append(score.tolist())
        return {"detected_boxes": pa.array(boxes, pa.list_(pa.list_(pa.float32()))), "scores": pa.array(scores)}
