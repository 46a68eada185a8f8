"""Sentences that name a later day: those on which the rules for them were made, and those written when the rules were done.

One form a line. ``{D}``, ``{I}``, ``{M}``, ``{Y}`` are a day after the cutoff in words, in digits, its month and a later year; ``{P}`` a
day before the cutoff, ``{W}`` what is ahead, ``{WHO}`` who decides, ``{O}`` how it came out. Honest ones could be written at the
cutoff, late ones only afterwards.
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
Train fares around {D} are up by a third on the year.
Schools in the capital stay shut on {D}.
The stadium has no event between now and {D}.
An essay of {P} compares {D} with 1992.
The committee's rules fix {D}, a {WD}, as the first working day.
Hedge funds hold record positions against the {M} contract.
Security for {D} costs the city 11 million.
The paper's front page of {P} counted the days to {D}.
Half of those polled in January 2024 had never heard of {D}.
The wager on {M} is the most popular one in the shop.
Weather models for {D} disagree.
{WHO} has kept {D} free of other business since February 2024.
A strike threatens {D}.
The letter, dated {P}, refers to {D} twice.
No one has asked {WHO} for more time than {D} allows.
The {Y} budget gives {WHO} 4 percent more.
Our guide to the {Y} race: who runs, who pays, who watches.
Nine of ten seats in the hall for {D} are gone.
It is the first time since 1998 that {W} clashes with a holiday, {D}.
Insurers quote twice the usual price for cover on {D}.
The curfew lasts from {P} to {D}.
Between {P} and {D} no polls are allowed.
For the {M} report the median guess is 0.2 percent.
Volunteers sign up for {D} at a rate of 300 a day.
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
The day after {D}, all papers agree: {O}.
Looking back at {D}: {O}.
{O} - our report of {D}.
It was on {D} that {O}.
Remember {D}? That is when {O}.
{D} changed everything for {WHO}.
Exit polls of {D} point the same way: {O}.
Those who held tickets for {D} saw that {O}.
Bookmakers paid out on {D}.
The countdown to {D} ended with a shock.
By the evening of {D} it is clear: {O}.
The new order, in force from {D}, follows a simple fact: {O}.
Markets jump on {D} as {WHO} surprises.
{WHO} has a majority on {D}.
Tallies for {D} put {WHO} in front.
With the events of {D} in mind, {WHO} thanked its voters.
The polls that closed on {D} were wrong.
Two weeks to {D}, we wrote, and then {O}.
The date of {D} is now famous.
{WHO} marks {D} as its greatest day.
The {Y} champions are back home.
{WHO} leads the {Y} cabinet.
Opened on {D}, the new term is a first for {WHO}.
Contracts for {M} settled at 100 cents.
{WD}, {D}: {O}. The crowd goes home.
The odds of {P} were wrong about {D}.
"""
#: Written after the rules had been made. They were read once in between: what they showed took a rule back, and added none.
FRESH_HONEST = """
Pollsters are split over {W}, with {D} still far away.
Airlines have put on extra flights for {D}.
The {M} cover story is a profile of the favourite.
A draft of {P} moves the date from {D} to a week later.
Both camps rent halls for {D}.
Options that pay on {D} are dear.
The law leaves {WHO} no choice but {D}.
Interest in {D} is strongest among the under-thirties.
{D}: doors 9:00, start 10:00, admission free.
What do we know about {D}?
The stamps for {D} are in the printer's shop.
Analysts at three banks differ on {M}.
Nothing rules out a delay to {D}, a lawyer told us on {P}.
Members of the panel hold office until {D}.
{WHO} asks for patience with regard to {D}.
In 2023 the office gave {D} as its preferred day.
The lease for the hall covers the nights up to {D}.
Rumours about {D} moved the price on {P}.
The {Y} season ticket costs 300 euros.
{W} and a rail strike share a date, {D}.
Only {D} suits both broadcasters.
The price of insurance against a bad {M} doubled in February 2024.
For the first time since 2005 there is no rival event on {D}.
Your vote on {D}: where to go, what to bring.
Four of the {Y} candidates come from the north.
The calendar for {M} is thin but for {W}.
"""
FRESH_LATE = """
Nobody in the hall on {D} believed it: {O}.
{D} saw {O}.
The verdict of {D} leaves no room for doubt: {O}.
Two days before {D} it leaked that {O}.
Our correspondents on the night of {D}: {O}
Final count, {D}: {O}.
{WHO} thanks its supporters for {D}.
From {D} on {WHO} has the last word.
The path to {D} was rough, and {O}.
Preparations for {D} were in vain, for {O}.
Until {D} nobody gave a penny for it; {O}.
Compared with {M}, prices in the shops are lower.
The street has been quiet since {D}.
Those who bet on {M} are rich.
{WHO} owes a lot to {D}.
The shock of {D} is still felt.
A year to {D}? No: {O}.
What {D} taught {WHO}.
Turnout on {D} is the highest in decades.
{WHO} is back in office thanks to {D}.
Its stock soars on {D} as {WHO} delivers.
The headline of {D} reads: {O}.
Story first filed {D}: {O}.
After a night of counting, {D} brings clarity.
The scenes of {D} are on every screen.
In {M} {O}, says a new book.
"""


def sentences(forms: str) -> Iterator[str]:
    """Yield the sentences of a list, each form of it with three of the events."""
    for form in forms.strip().splitlines():
        for number, event in enumerate(EVENTS[::4]):
            words = {
                "{D}": event.day.strftime(("%-d %B %Y", "%B %-d, %Y")[number % 2]), "{I}": event.day.isoformat(), "{M}": event.day.strftime("%B %Y"),
                "{Y}": str(event.day.year + 1),
                "{P}": (date(2024, 1, 8) + timedelta(days=9 * number)).strftime("%-d %B %Y"), "{WHO}": event.who, "{W}": event.what,
                "{O}": event.outcome, "{WD}": event.day.strftime("%A"),
            }  # fmt: skip
            text = form
            for hole, word in words.items():
                text = text.replace(hole, word)
            yield text[0].upper() + text[1:]
