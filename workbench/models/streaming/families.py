"""Which families of providers stream, and how: one that is not listed sends its replies whole."""

from workbench.models.streaming.anthropic import ANTHROPIC
from workbench.models.streaming.assembly import Family
from workbench.models.streaming.chat import CHAT
from workbench.models.streaming.gemini import GEMINI
from workbench.models.streaming.ollama import OLLAMA
from workbench.models.streaming.responses import RESPONSES

FAMILIES: tuple[Family, ...] = (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA)
