"""The names of the classes of models that an Auto class of transformers opens."""


def architectures(auto_model: str) -> frozenset[str]:
    """Names as config.json has them in `architectures`, of classes that this process registered too; imports none.

    Args:
        auto_model: The Auto class, such as "AutoModelForImageClassification".

    >>> "ResNetForImageClassification" in architectures("AutoModelForImageClassification")
    True
    """
    import transformers

    mapping = getattr(transformers, auto_model)._model_mapping
    names = {kind.__name__ for kind in mapping._extra_content.values()}
    for kinds in mapping._model_mapping.values():  # a name, or several with None for those that are not there
        names.update([kinds] if isinstance(kinds, str) else filter(None, kinds))
    return frozenset(names)
