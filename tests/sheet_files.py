"""Workbooks (.xlsx) as text: the least that is one, so that tests may write what no program would."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Votes" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}

HEADER = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>item</t></is></c><c r="B1" t="inlineStr"><is><t>label</t></is></c></row>'
)


def cells(rows: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The sheet of a workbook, from its rows, after other parts."""
    return {
        **(more or {}),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>',
    }


def strings(texts: str, attributes: str = "") -> dict[str, str]:
    """The list of texts that cells name by number."""
    return {"xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}"{attributes}>{texts}</sst>'}


def write_workbook(path: Path, parts: Mapping[str, str]) -> Path:
    """A workbook of one sheet, with some parts in place of or beside the usual ones."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {**_PARTS, **parts}.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}'.encode(errors="surrogateescape"))
    return path
