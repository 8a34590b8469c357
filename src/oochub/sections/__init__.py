"""The findings of a report, one file each: `oochub list section` names them."""
