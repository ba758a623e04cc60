"""The screen of ``trace --step``: the tape, the rows around the position, and what each layer does there; by Textual."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import DataTable, Footer, Input, Static

from tm2tfr.base.errors import visible
from tm2tfr.base.text.tex import typeset
from tm2tfr.contract.source import BOTTOM
from tm2tfr.web.explorer.moments import LayerMoment, Moment, Moments
from tm2tfr.web.slides.slide import sentence, step_of

AROUND = 4
"""How many rows are shown before the position, and after it."""
HERE, FRESH, DIFFERS = "black on bright_yellow", "bold cyan", "bold red"


class Jump(ModalScreen[int | None]):
    """Asks for a position."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "cancel")]

    def __init__(self, last: int) -> None:
        super().__init__()
        self._last = last

    def compose(self) -> ComposeResult:
        """Yield the field."""
        yield Input(placeholder=f"position, from 0 to {self._last}", type="integer", id="jump")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the position that was typed, or the nearest that exists."""
        text = event.value.strip()
        self.dismiss(min(max(int(text), 0), self._last) if text.lstrip("+-").isdecimal() else None)

    def action_cancel(self) -> None:
        """Return nothing."""
        self.dismiss(None)


class RunScreen(Screen[None]):
    """A run at one position."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l,space", "move(1)", "step", key_display="→←"),
        Binding("left,h", "move(-1)", "back", show=False),
        Binding("g,colon", "jump", "jump"),
        Binding("n", "next_difference", "difference"),
        Binding("q,ctrl+c", "app.quit", "quit", key_display="q"),
        Binding("home", "first", "ends", key_display="Home End"),
        Binding("end", "last", "last", show=False),
        Binding("pagedown", "move(10)", "±10", key_display="PgDn PgUp"),
        Binding("pageup", "move(-10)", "10 back", show=False),
        Binding("down,j", "scroll_layers(1)", "scroll", key_display="↓↑"),
        Binding("up,k", "scroll_layers(-1)", "scroll", show=False),
    ]

    def __init__(self, run: Moments, position: int) -> None:
        super().__init__()
        self._moments, self.position = run, position

    def compose(self) -> ComposeResult:
        """Yield the parts of the screen."""
        yield Static(id="title")
        yield Static(id="tape")
        table: DataTable[Text] = DataTable(id="rows", cursor_type="none", zebra_stripes=False)
        table.can_focus = False
        yield table
        scrolled = VerticalScroll(Static(id="layers"), id="scrolled")
        scrolled.can_focus = False
        yield scrolled
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Show the first position."""
        self.query_one("#rows", DataTable).add_columns(*(visible(c.name) for c in self._moments.trace.columns))
        self.query_one("#tape").display = self._moments.trace.has_tape
        self._show()

    def action_move(self, by: int) -> None:
        """Go on, or back."""
        self._go(self.position + by)

    def action_first(self) -> None:
        """Go to the first position."""
        self._go(0)

    def action_last(self) -> None:
        """Go to the last position."""
        self._go(len(self._moments) - 1)

    def action_jump(self) -> None:
        """Ask for a position and go there."""
        self.app.push_screen(Jump(len(self._moments) - 1), lambda found: None if found is None else self._go(found))

    def action_next_difference(self) -> None:
        """Go to the next position that differs from the reference."""
        found = self._moments.next_difference(self.position)
        if found is None:
            trace = self._moments.trace
            more = "no further difference from" if trace.divergence else "no difference from"
            self.notify(f"{more} the {trace.reference}" if trace.checked else "nothing was compared")
        else:
            self._go(found)

    def action_scroll_layers(self, by: int) -> None:
        """Scroll what each layer does."""
        self.query_one("#scrolled").scroll_relative(y=by, animate=False)

    def _go(self, position: int) -> None:
        self.position = min(max(position, 0), len(self._moments) - 1)
        self._show()

    def _show(self) -> None:
        moment = self._moments.at(self.position)
        self.query_one("#title", Static).update(title(self._moments, moment))
        self.query_one("#tape", Static).update(tape(moment))
        table = self.query_one("#rows", DataTable)
        table.clear()
        for row in rows(self._moments, self.position):
            table.add_row(*row)
        self.query_one("#layers", Static).update(layers(moment.layers))


class StepApp(App[None]):
    """The terminal's whole screen: a run, from the first answer that counts."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #title { padding: 0 1; height: 2; }
    #tape { padding: 0 1; height: 4; }
    #rows { height: auto; max-height: 10; margin: 0 0 1 0; }
    #scrolled { height: 1fr; padding: 0 1; }
    Jump { align: center middle; }
    #jump { width: 50; }
    """

    def __init__(self, run: Moments) -> None:
        super().__init__()
        self.shown = RunScreen(run, run.first)

    def on_mount(self) -> None:
        """Show the run."""
        self.push_screen(self.shown)


def title(run: Moments, moment: Moment) -> Text:
    """Return two lines: the source and the position, and the answer there."""
    trace = run.trace
    of = f"{visible(trace.machine)} on {visible(trace.input) or 'the empty word'}"
    before = moment.position < run.first
    where = f"position {moment.position} of {len(run) - 1}" + (
        "" if before or trace.labels else f", {step_of(run, moment.position)}"
    )
    lines = Text.assemble((of, "bold"), f"   {where}\n")
    said = "the input is being read" if before else sentence(run, moment)
    return lines.append(said, DIFFERS if moment.wrong else "cyan")


def tape(moment: Moment) -> Text:
    """Return the tape in four lines: the state above the head, the cells, and the number of every fifth."""
    found = moment.tape
    if found is None:
        return Text("no step has been made, so there is no tape yet", "dim")
    wide = max(map(len, found.cells)) + 2
    lead = "… " if found.cut else "  "
    above, cells, numbers = Text(lead), Text(lead), Text("  ")
    for n, symbol in enumerate(found.cells):
        number = moment.first_cell + n
        style = HERE if n == found.head else FRESH if number == moment.fresh else ""
        cells.append(f"{symbol:^{wide}}", style)
        numbers.append(f"{number:^{wide}}" if number % 5 == 0 else " " * wide, "dim")
    if found.head is not None:
        state = moment.cells["q"]
        at = len(lead) + found.head * wide + (wide - 1) // 2
        above = Text(" " * at).append(f"▼ {'start' if state == BOTTOM else state}", FRESH)
    return Text("\n").join([above, cells.append(" …"), numbers])


def rows(run: Moments, position: int) -> list[list[Text]]:
    """Return the rows of the table around a position; differences are red, with the value of the reference."""
    first = max(0, min(position - AROUND, len(run) - 2 * AROUND - 1))
    found = []
    for i in range(first, min(len(run), first + 2 * AROUND + 1)):
        line, cells = run.lines[i], []
        for name, value in line.cells.items():
            wrong = line.wrong.get(name)
            style = DIFFERS if wrong is not None else HERE if i == position else ""
            cells.append(Text(value if wrong is None else f"{value}≠{wrong}", style))
        found.append(cells)
    return found


def layers(found: tuple[LayerMoment, ...]) -> Table:
    """Return a line per layer at a position: where its heads look, and the variables it writes, by name."""
    table = Table(box=None, padding=(0, 2, 0, 0), expand=True)
    for heading, ratio in (("layer", None), ("heads look at", 2), ("writes", 3)):
        table.add_column(heading, style="bold cyan" if heading == "layer" else "", header_style="dim", ratio=ratio)
    for layer in found:
        name = f"{layer.number} {layer.name}" if layer.number else layer.name
        written = ", ".join(f"{typeset(change.name)} = {change.value}" for change in layer.written)
        table.add_row(
            Text(name),
            Text("\n".join(typeset(str(each)) for each in layer.looked)),
            Text(written or "–", "" if written else "dim"),
        )
    return table
