"""Texts as askers of questions write them, none of which knows more than it could: the control of `proxies.asof.asof_text`.

Written for this test in the manner of resolution criteria, fine print and backgrounds. ``{D}`` and its like are days after the
cutoff (deadlines, meetings), ``{P}`` and its like days before it, in several spellings; `honest_texts` fills them in.
"""

from collections.abc import Iterator
from datetime import date, timedelta

CUTOFF = date(2024, 1, 15)

TEMPLATES = (
    # deadlines and conditions
    "This question resolves Yes if the cabinet resigns by {D}, 11:59 PM ET. Otherwise it resolves No.",
    "This market will resolve to \"Yes\" if the bill is signed into law before {D}. Otherwise, this market will resolve to \"No\".",
    "Resolves Yes if, according to official statistics published on or before {D}, unemployment was above 4.0% in {M}.",
    "If the index closed above 5,000 on {D}, the answer is Yes.",
    "The question resolves positively if at least one of the following has happened by {D}: a vote was lost, or the minister resigned.",
    "Yes if the party won more seats on {D} than it held on {P}.",
    "Whether the merger closed on or before {D} will be decided by the company's own announcement.",
    "To count, the launch must have taken place between {P} and {D}, inclusive.",
    "For this market to resolve to Yes, the candidate must have been sworn in by {D}.",
    "The market closes on {D}; what happened after the close does not count.",
    "In the event that the committee has not met by {D}, this question resolves No.",
    "Should the vote be postponed beyond {D}, this question will resolve as ambiguous.",
    "Unless a ceasefire was announced and held for seven days before {D}, this resolves No.",
    "Resolves to the price of a barrel as of {D}, 5 p.m. ET, as shown on the exchange's page.",
    "As of {D}, will more than 40 countries have ratified the treaty?",
    "The question will resolve Yes if as of {D} the law is in force and has been applied at least once.",
    "We will look at the page on {D} and count the entries listed as of that day.",
    "A vote that was called before {D} but held after it counts.",
    "The resolution source is the ministry's bulletin of {D}.",
    "The deadline is {D}.",
    "Deadline: {D}.",
    "Closing date: {D}. Resolution date: {E}.",
    "Question period: {P} to {D}.",
    "This contract expires on {D} and settles on the last price.",
    "The note matures on {D}.",
    "The next meeting is scheduled for {D}.",
    "The committee meets on {D} and {E}.",
    "Meetings: {D}; {E}.",
    "- {D}: meeting of the committee\n- {E}: publication of its minutes",
    "Elections take place on {D}.",
    "A runoff, if needed, is held on {E}.",
    "The final round ends {D}.",
    "The season runs from {P} through {D}.",
    "The law takes effect on {D}.",
    "The treaty's transition period ends on {D}.",
    "The president's term ends {D}.",
    "The report for {M} is due on {D}.",
    "The release is expected on {D}, according to the agency's calendar.",
    "The agency plans to publish the figure on {D}.",
    "The company said on {P} that it would open the plant by {D}.",
    "On {P} the minister announced that elections will be held on {D}.",
    "In {PM} the board approved a plan to cut emissions by half by {Y2}.",
    "The government aims for net zero by {Y2}.",
    "The forecast of {P} sees growth of 2.1% in {Y} and 1.8% in {Y2}.",
    "Analysts expected earnings of $2.10 a share for {Q}.",
    "The budget for {Y} was passed on {P}.",
    "Futures for {M} traded at 81.20 on {P}.",
    "The mission, which was delayed twice, is now due to launch no earlier than {D}.",
    "The World Cup of {Y2} will be held in three countries.",
    "The {Y} presidential election will be the 60th.",
    "Tickets for the {Y2} games go on sale before {D}.",
    # as of the past, past dates
    "As of {P}, the party held 120 of 300 seats.",
    "As of {P} the rate stood at 5.25%.",
    "The cabinet was formed on {P} and has survived two votes of confidence since.",
    "On {P}, the court ruled that the election must be repeated.",
    "The index closed at 4,783.83 on {P}.",
    "The company was founded in 1998, went public in 2011 and was sold in 2019.",
    "Between 2015 and 2022 there were nine such events.",
    "Last updated: {P}.",
    "[Edited on {P}] Added the definition of a cabinet.",
    "Update {P}: the source has moved to another page; the new one counts.",
    "(Clarified {P}: acting ministers count as ministers.)",
    "EDIT ({P}): spelling.",
    "Correction, {P}: the figure for 2022 was 3.4, not 3.5.",
    "The treaty of 2010 was extended in February 2021 for five years.",
    # numbers that look like dates
    "The level 2,025 is the highest of the year; the price was $2030 and the volume 2026.5.",
    "More than 2024 units were sold in the first week.",
    "The file is version 12.3.24 of the standard, section 3/2.",
    "A ratio of 3/2 was agreed, and 9/11 remains the reference.",
    "The asteroid 2024 AB passed at 0.1 lunar distances." ,
    "Rule 10b5-1 and form 8-K apply; see 17 CFR 240.12.",
    "The phone number of the office is 020 7946 0958.",
    "A score of 20-24 is a tie; the winner needs 25 points.",
    # words of edits that are none
    "The data are updated monthly; the value that stands on {D} counts, whatever is revised later.",
    "Update frequency: monthly.",
    "Revised figures are published each July and do not count.",
    "The corrected series is used where there is one.",
    "Added value is measured at basic prices.",
    "Edited volumes do not count as monographs.",
    "The index is modified by free float (see the methodology, as changed in 2021).",
    "News reports of at least two agencies are needed.",
    "Changes of the rules after the question opened do not matter.",
    "An update of the software counts as a release if its version number is higher.",
    "The bill would amend the act of 1974, as amended.",
    "Correct answers are counted by the organiser.",
    # mentions of resolution
    "If this question has resolved by {D}, the linked one closes as well.",
    "Once this market is resolved, bets on the linked one are returned.",
    "This market will be resolved according to the official results of {D}.",
    "A similar question resolved No in 2022.",
    "The previous version of this question resolved Yes on {P}.",
    "The question resolves early if the event happens before {D}.",
    "The dispute was settled out of court in 2021.",
    "It resolves to the option with the most votes; a tie resolves No.",
    # longer and mixed
    "This market resolves to Yes if the average of the polls published between {P} and {D} is above 45.0%; polls that were conducted earlier but published in"
    " that time count. The average is that of the site on {D} at noon. If the site is down, the page as archived counts.",
    "The European Central Bank raised its rate ten times between July 2022 and September 2023. Markets price a first cut by {M}. The question resolves Yes if"
    " the deposit rate announced on {D} is below 4.00%.",
    "Background: the senator announced on {P} that he would not run again.\n\nResolution: Yes if his successor is of the same party, as declared by the secretary"
    " of state on or before {D}.",
    "Fine print: a candidate who withdrew before {D} is treated as having lost. A withdrawal after {D} does not matter.",
    "In the U.S. Senate, 60 votes are needed to end debate. If a cloture motion was filed by Sen. Smith before {D}, it counts.",
    "The value is the one shown at 4:00 p.m. ET on {D}; later revisions are ignored.",
    "See the schedule at https://example.org/{Y}/calendar and the rules at https://example.org/rules-{Y2}.",
    "1. The launch happens by {D}.\n2. The crew consists of at least two people.\n3. They have returned safely by {E}.",
    "Options: before {D}; between {D} and {E}; later; never.",
    "The quarter ends on {D}, and the results for {Q} are usually published four weeks later.",
    "What counts is the first estimate of GDP for {Q}, which the bureau will release on {D}.",
    "Any drone strike that kills more than ten people and that was reported by two agencies until {D} counts.",
    "Will the rate have been cut by {D}?",
    "Who was the more popular of the two on {D}?",
    "Did the price touch 100 at any time between {P} and {D}?",
    "By {D}, how many states will have passed such a law?",
    # other languages
    "Die Frage wird mit Ja beantwortet, wenn das Kabinett bis zum {DE} zurücktritt.",
    "Stichtag ist der {DE}; maßgeblich ist, ob der Vertrag vor diesem Tag unterschrieben wurde.",
    "Stand {PDE}: 120 von 300 Sitzen.",
    "La question sera résolue par Oui si le gouvernement démissionne avant le {FR}.",
    "Si le traité a été signé avant le {FR}, la réponse est Oui.",
    "Mise à jour du {PFR} : la source a changé d'adresse.",
    "La pregunta se resolverá como Sí si el gabinete dimite antes del {ES}.",
    "Si el precio fue superior a 100 el {ES}, se resolverá como Sí.",
    "A pergunta será resolvida como Sim se o gabinete renunciar até {PT}.",
    "La domanda sarà risolta con Sì se il governo si dimette entro il {IT}.",
    "De vraag wordt met Ja beantwoord als het kabinet voor {NL} aftreedt.",
    "Вопрос будет решён как «Да», если правительство уйдёт в отставку до {RU}.",
    "Pytanie zostanie rozstrzygnięte na Tak, jeśli rząd poda się do dymisji przed {PL}.",
    "Kabine {TR} tarihinden önce istifa ederse soru Evet olarak çözülecek.",
    "如果内阁在{ZH}之前辞职，则答案为“是”。",
    "{ZH}までに内閣が総辞職した場合、「はい」と解決されます。",
    "Frågan avgörs som Ja om regeringen avgår före {SV}.",
)  # fmt: skip
_MONTHS = {
    "EN": "January February March April May June July August September October November December",
    "DE": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "FR": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "ES": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "PT": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "IT": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "NL": "januari februari maart april mei juni juli augustus september oktober november december",
    "RU": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "PL": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "TR": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "SV": "januari februari mars april maj juni juli augusti september oktober november december",
}


def _month(day: date, language: str = "EN") -> str:
    return _MONTHS[language].split()[day.month - 1]


def _spelled(day: date, number: int) -> str:
    return (
        f"{_month(day)} {day.day}, {day.year}",
        day.isoformat(),
        f"{day.day} {_month(day)} {day.year}",
        f"{_month(day)[:3]} {day.day}, {day.year}",
    )[number % 4]


def _filled(template: str, number: int) -> str:
    ahead = CUTOFF + timedelta(days=(16, 75, 350)[number % 3])
    later = ahead + timedelta(days=40)
    past = CUTOFF - timedelta(days=(6, 45, 700)[number % 3])
    fill = {
        "{D}": _spelled(ahead, number), "{E}": _spelled(later, number), "{P}": _spelled(past, number), "{M}": f"{_month(ahead)} {ahead.year}",
        "{PM}": f"{_month(past)} {past.year}", "{Y2}": str(ahead.year + 2), "{Y}": str(ahead.year), "{Q}": f"Q{(ahead.month + 2) // 3} {ahead.year}",
        "{PDE}": f"{past.day}. {_month(past, 'DE')} {past.year}", "{PFR}": f"{past.day} {_month(past, 'FR')} {past.year}",
        "{DE}": f"{ahead.day}. {_month(ahead, 'DE')} {ahead.year}", "{ZH}": f"{ahead.year}年{ahead.month}月{ahead.day}日",
        "{ES}": f"{ahead.day} de {_month(ahead, 'ES')} de {ahead.year}", "{PT}": f"{ahead.day} de {_month(ahead, 'PT')} de {ahead.year}",
        **{f"{{{lang}}}": f"{ahead.day} {_month(ahead, lang)} {ahead.year}" for lang in ("FR", "IT", "NL", "RU", "PL", "TR", "SV")},
    }  # fmt: skip
    for hole, value in fill.items():
        template = template.replace(hole, value)
    return template


def honest_texts() -> Iterator[str]:
    """Every template in three fillings; those without a date once."""
    seen = set()
    for template in TEMPLATES:
        for number in range(3):
            text = _filled(template, number + 4 * len(seen) % 3)
            if text not in seen:
                seen.add(text)
                yield text
