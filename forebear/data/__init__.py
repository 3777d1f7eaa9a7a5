"""Rows in: read, check and name the columns, and say what is asked of them."""

from forebear.data.dequantise import Dequantiser as Dequantiser
from forebear.data.dequantise import find_atoms as find_atoms
from forebear.data.lagged import Lagged as Lagged
from forebear.data.lagged import lagged as lagged
from forebear.data.question import Question as Question
from forebear.data.question import ask as ask
from forebear.data.question import check_questions as check_questions
from forebear.data.table import Column as Column
from forebear.data.table import Table as Table
from forebear.data.table import open_frame as open_frame
from forebear.data.table import read_columns as read_columns
