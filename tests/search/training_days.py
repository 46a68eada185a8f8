"""Sentences for the half on which the rules of later days were made (docs/leaks.md): one form a line.

``{D}``, ``{I}``, ``{M}`` are a day after the cutoff in words, in digits, and its month; ``{Y}`` a later year, ``{P}`` a day before it, ``{W}`` what is ahead,
``{WHO}`` who decides, ``{O}`` how it came out. The first part is honest, the second can only have been written later.
"""

from collections.abc import Iterator
from datetime import date, timedelta

from tests.search.corpus import EVENTS

HONEST = """
The ministry's diary has {D} for {W}.
{D} falls on a public holiday in three states.
Hotel rooms for {D} cost twice as much as usual.
Flights for {D} were full by {P}.
Bookmakers give evens on a surprise on {D}.
Swaps price a probability of 70 percent of a cut in {M}.
The odds of an upset in {M} are 3/1.
The date of {W} is {D}.
Polling day is {D}, three weeks earlier than in the last cycle.
The law says that the term of {WHO} is at an end on {D}.
{WHO} opens its books on {D}.
Doors open on {D} at nine in the morning.
{W} takes place on {D} in five cities.
{W} is held on {D}, as in most years.
Tickets go on sale on {D}.
The country goes to the polls on {D}.
The countdown to {D} is on, and nobody dares to guess.
Asked on {P} about {D}, {WHO} declined to comment.
{D} is the last day on which papers are accepted.
In its letter of {P} the office named {D} as the day.
As of {P}, nothing but {D} is known of {W}.
Registration for {D} opened on {P}.
Contracts for {M} traded at 41 cents on {P}.
{M} contracts cost 41 cents.
The timetable of {WHO} lists {D}.
There are 40 days to {D}.
{WHO} is braced for {D}.
The model gives the favourite 62 percent for {M}.
The current term lapses on {D}.
Parliament votes on {D}.
Fans circle {D} in red.
The venue for {D} holds 40,000.
A calendar puts {W} on {D}, next to two matches.
The panel, which met on {P}, favours {D}.
The likeliest date is {D}, a {WD}.
Nobody at {WHO} talks about {D}.
A poll published on {P} asked people about {D}.
The note is repayable on {D}.
The road to {D} is long.
{WHO} wants a decision on {D}.
{I}: {W} (preview)
Diary. {D}: {W}.
For {D} the almanac has a new moon.
The forecast for {M} is unchanged from {P}.
Preparations for {D} have been under way since 2022.
With {D} in mind, {WHO} hired forty people in March 2024.
Polls for the {Y} election show a tight race.
Tickets to the {Y} edition cost 40 dollars.
The line-up of the {Y} festival is not known yet.
Money for the {Y} campaign comes from 12,000 donors.
"""
LATE = """
On {D} {O}.
{D}: {O}.
{I} - {O}
{O}, {WHO} said on {D}.
{W} ended on {D}: {O}.
The market for {D} paid out because {O}.
The countdown to {D} is over: {O}.
Tickets for {D} were refunded once {O}.
Tickets for {D} proved worthless.
Bookmakers gave long odds for {D}, and {O}.
A bet placed on {P} paid three to one on {D}.
The odds for {M} were wrong, since {O}.
{D} is the day on which {O}.
{D} was a {WD}, and {O}.
{D} is a holiday now that {O}.
As of {D} {O}.
As things stand on {D}, {O}.
Polling day was {D}, and {O}.
The date was {D}; {O}.
The diary of {WHO} has for {D}: {O}.
Results for {M}: {O}.
Figures for {M} show that {O}.
The report for {M} surprised, as {O}.
Photo of {D}. {O}
Video ({D}): {O}.
More on this: {O} ({M}).
{O} | {D}
bo77, {D}: so {O}
{WHO} votes on {D}: {O}.
Parliament voted on {D}.
Doors opened on {D}.
{W} took place on {D}.
{W} was held on {D}.
The vote of {D} is behind us: {O}.
About {D}: {O}.
Asked about {D}, {WHO} said that {O}.
The model gave 62 percent for {M}, but {O}.
The model's odds for {M} came true.
Talk about {D} goes on, for {O}.
{D} marks the day when {O}.
{D} is a day to remember: {O}.
Since {D} all is different.
After {D}, {WHO} has other plans: {O}.
{WHO} celebrates on {D}.
{WHO} wins on {D}.
Surprise on {D}: {WHO} backs down.
{WHO} concedes on {D}.
Breaking, {D}: {WHO} confirms it.
In {M} {WHO} is in charge.
The rate stands at 4 percent in {M}.
Unemployment for {M} is 4.1 percent.
The winner for {M} is {WHO}.
{WHO}'s victory of {D} is a turning point.
The outcome of {D} is clear.
Thank you for {D}!
What a night, {D}.
The seats for {D} went to {WHO}.
Registration for {D} opened on {P}, and {O}.
Contracts for {M} traded at 41 cents on {P}; {O}.
In its letter of {P} the office named {D} as the day, and on it {O}.
Asked on {P} about {D}, {WHO} kept quiet, but {O}.
The date of {W} is {D}, the day {O}.
The road to {D} ended well.
Hopes for {D} came to nothing.
Ready for {D}, {WHO} struck first.
There is a new leader on {D}.
By {D} {O}.
Late on {D} {O}.
{WHO} wins the {Y} election.
{WHO} concedes the {Y} race.
The {Y} election, which {WHO} lost, is history.
Winner of the {Y} tournament: {WHO}.
The {Y} vote has a clear result.
After the {Y} election {WHO} is stronger.
The {Y} season ended well for {WHO}.
"""


def sentences(forms: str) -> Iterator[tuple[str, str]]:
    """Yield each form of a list with each of its sentences, one for every event."""
    for form in forms.strip().splitlines():
        for number, event in enumerate(EVENTS):
            words = {
                "{D}": event.day.strftime(("%-d %B %Y", "%B %-d, %Y")[number % 2]), "{I}": event.day.isoformat(), "{M}": event.day.strftime("%B %Y"),
                "{Y}": str(event.day.year + 1),
                "{P}": (date(2024, 1, 8) + timedelta(days=9 * number)).strftime("%-d %B %Y"), "{WHO}": event.who, "{W}": event.what,
                "{O}": event.outcome, "{WD}": event.day.strftime("%A"),
            }  # fmt: skip
            text = form
            for hole, word in words.items():
                text = text.replace(hole, word)
            yield form, text[0].upper() + text[1:]
