"""How people name series: those of the embedded source, and those that other sources hold.

A text that says "oil" means one of several; each of them is a candidate, and a note says which one was taken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.questions.readings.plain_text import words
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.series_registry import series_named

EMBEDDED = "embedded:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesName:
    """A series as texts name it."""

    #: ``SOURCE:NAME``, or the plain name of a series that no source of this product holds yet.
    ref: str
    #: The name inside a sentence.
    article: str
    #: Of a rate, percent and basis points are levels; of the others they are changes.
    kind: str = "price"
    #: Has a value a month (or a quarter), which stands for that month.
    monthly: bool = False
    #: What it is talked of in: "yoy" for inflation, "" for its own values.
    growth: str = ""
    #: Where its values are, as a claim names it (`series_named`): ``SP500``, ``yahoo:BTC-USD``; "" where no source here has them in the
    #: unit that people name.
    source: str = ""

    @property
    def embedded(self) -> str:
        """Its key among the embedded series; "" for another."""
        return self.ref.removeprefix(EMBEDDED) if self.ref.startswith(EMBEDDED) else ""


def embedded_name(name: str) -> SeriesName:
    """Return the name of a series that claims know: an embedded one, or one by its reference."""
    series = series_named(name)
    kind = {"yield": "rate", "volatility": "index"}.get(series.kind, series.kind)
    ref = EMBEDDED + name if series.embedded else series.id
    return SeriesName(ref=ref, article=series.article, kind=kind, monthly=series.monthly, source=name)


def _other(
    name: str, kind: str = "price", *, monthly: bool = False, growth: str = "", source: str = ""
) -> SeriesName:
    return SeriesName(ref=name, article=name, kind=kind, monthly=monthly, growth=growth, source=source)


_CORE = SeriesName(
    ref=EMBEDDED + "CORE_CPI",
    article="US core CPI",
    kind="index",
    monthly=True,
    growth="yoy",
    source="CORE_CPI",
)
_HEADLINE = _other("US headline CPI", "index", monthly=True, growth="yoy", source="fred:CPIAUCNS")
_EMBEDDED = {name: embedded_name(name) for name in SERIES}
_Y = r"(?<!next \d)(?<!next \d\d)(?<!in \d)(?<!in \d\d)(?<!over \d)(?<!for \d)(?<!the \d\d\d)[- ]?(?:year|yr|y|s)\b(?! (?:high|low|average|moving))"
_TREASURY = r"(?:(?: us| u\.s\.)?(?: government| govt)?(?: treasur(?:y|ies)| notes?| bonds?| note| ust)*(?: yields?| rates?)*)"

#: (what is written, the series that may be meant, nearest first); longer names stand before their own beginnings.
_NAMES: tuple[tuple[str, tuple[SeriesName, ...]], ...] = (
    # two series in one name
    (
        r"(?:moody'?s )?(?:baa|bbb)\s*(?:-|to|minus|over|/|less|vs)\s*(?:moody'?s )?aaa(?: corporate)?(?: bond)?(?: yields?| credit| default)?"
        r"(?: spreads?| gap| differential)?|aaa\s*(?:-|/)\s*baa(?: corporate)?(?: bond)?(?: yields?| credit)? (?:spreads?|gap)"
        r"|(?:moody'?s )?baa(?: corporate)?(?: bond)?(?: yields?| credit)? (?:spreads?|gap) (?:over|to|versus|vs\.?) (?:moody'?s )?aaa"
        r"|(?:the )?(?:spreads?|gap|difference|differential) (?:between|of) (?:the )?(?:yields? (?:on|of|for) )?(?:moody'?s )?(?:baa(?:[- ]rated)? (?:and|over) aaa|aaa(?:[- ]rated)? and baa)(?:[- ]rated)?(?: corporate)?(?: (?:bonds?|debt))?(?: yields?)?"
        r"|(?:corporate )?(?:credit|quality|default) spreads?|corporate(?: bond)? spreads?",
        (_EMBEDDED["SPREAD"],),
    ),
    # The spread of one rating alone is over Treasuries as a rule; with Aaa named it is the one above.
    *(
        (
            rf"(?:moody'?s )?{rating}(?: corporate)?(?: bond)?(?:[- ](?:to[- ])?treasur(?:y|ies))?(?: yields?| credit)? (?:spreads?|gap)(?: (?:over|to|versus|vs\.?) (?:10-year )?treasur(?:y|ies))?"
            rf"|(?:the )?(?:spreads?|gap) (?:of|between) (?:moody'?s )?{rating}(?: bonds?| yields?)* (?:over|and|to) (?:10-year )?treasur(?:y|ies)",
            (_other(f"{rating.title()} spread over 10-year Treasuries", "rate", source=f"fred:{rating.upper()}10Y"), _EMBEDDED["SPREAD"]),
        )
        for rating in ("baa", "aaa")
    ),
    (r"(?:gap|spread|difference) between (?:the )?(?:us )?10-year (?:treasury )?and (?:the )?2-year(?: treasury)? (?:yields?|notes?|rates?)|(?:(?:the )?yield curve \()?2s ?/?10s(?:\)|(?: curve| spread)?)|2s?[/-]10s?(?: spread| curve)?|10s?/2s?|(?:the )?yield curve(?! ?\()|10s?[- ]2s?(?: spread)?|10[- ]?y(?:ear)?[- ](?:less |minus |over )?2[- ]?y(?:ear)?(?: treasury| bond)? (?:slope|curve|spread)", (_other("10-year minus 2-year Treasury spread", "rate", source="fred:T10Y2Y"),)),
    (r"(?:us )?(?:high[- ]yield|junk)(?: bond)?(?: credit)? (?:spreads?|oas)|hy (?:spreads?|oas)", (_other("US high-yield spread", "rate", source="fred:BAMLH0A0HYM2"),)),
    (r"(?:us )?(?:investment[- ]grade|ig)(?: bond)?(?: credit)? (?:spreads?|oas)", (_other("US investment-grade spread", "rate", source="fred:BAMLC0A0CM"),)),
    (r"(?:the )?(?<!ted )spread", (_EMBEDDED["SPREAD"], _other("US high-yield spread", "rate", source="fred:BAMLH0A0HYM2"))),
    (r"ted spread", (_other("TED spread", "rate", source="fred:TEDRATE"),)),
    (r"2s ?/?5s(?: curve| spread)?", (_other("5-year minus 2-year Treasury spread", "rate"),)),
    (r"(?:(?:the )?yield curve \()?(?:3m ?/?-?10y|10y ?/?-?3m|3[- ]month ?/ ?10[- ]year|10[- ]year ?/ ?3[- ]month|10[- ]year (?:less|minus|over) 3[- ]month(?: bills?| yield)? spread)(?:\)|(?: curve| spread)?)", (_other("10-year minus 3-month Treasury spread", "rate", source="fred:T10Y3M"),)),
    # equity
    (r"(?:us |u\.s\. )?tech(?:nology)?(?: stocks| shares| sector)?(?= (?:beats?|out-?performs?|under-?performs?|lags?|will|falls?|rises?|rall|drops?|crash|ends?|closes?))|(?:the )?tech-heavy (?:nasdaq(?: composite)?|index)", (_EMBEDDED["NASDAQ"],)),
    (r"nasdaq[- ]?100|\bndx\b", (_other("NASDAQ-100", "price", source="yahoo:^NDX"),)),
    (r"\bspy\b|\bqqq\b|\biwm\b|\bgld\b|\buso\b", ()),
    (r"(?:the )?(?:blue[- ]chips?(?: index| average)?|dow industrials)", (_other("Dow Jones Industrial Average", source="yahoo:^DJI"),)),
    (r"(?:(?:the|america'?s|us|u\.s\.|wall street'?s?) )*(?:main|benchmark|broad|broader|headline|leading) (?:us |stock |share |equity )*(?:index|market|gauge)", (_EMBEDDED["SP500"],)),
    (r"\bspoo[sz]?\b|s ?(?:&|\+) ?p(?: ?-?500)?(?: stock)?(?: index)?|\bs and p(?: 500)?|standard (?:&|and) poor'?s?(?: ?500)?(?: index)?|\bsnp ?500\b|\bsp-?(?: ?500|x)\b(?: index)?|\^gspc|\bus ?500\b", (_EMBEDDED["SP500"],)),
    (r"\b(?:nasdaq|naz)(?: comp(?:osite)?)?(?: index)?\b|\bcomp\b|\^ixic|\bixic\b", (_EMBEDDED["NASDAQ"],)),
    (r"(?:the )?vix, (?:the )?(?:wall street'?s?|market'?s?|investors'?|stock market'?s?|so-called) (?:main |favou?rite )?(?:fear|volatility) (?:index|gauge),?|(?:cboe )?\bvix\b(?: index)?|(?:cboe |wall street'?s? )*(?:vol(?:atility)?) (?:index|gauge)|(?:(?:wall streets?'?s?|market'?s?|investors'?|so-called) )*fear (?:index|gauge),? ?(?:the )?(?:vix)?", (_EMBEDDED["VIX"],)),
    (r"(?:us |u\.s\. |the |american )*(?:stock markets?|stocks|equities|equity markets?|the market|markets)", (_EMBEDDED["SP500"], _EMBEDDED["NASDAQ"])),
    (r"wall street(?!')", (_EMBEDDED["SP500"], _other("Dow Jones Industrial Average", source="yahoo:^DJI"))),
    (r"(?:s ?& ?p |\bes\b|e-?mini)(?:500 )?(?:futures)?(?= (?:futures|above|below|at|100|\d))(?<!p )|\bes\b", (_other("S&P 500 futures", source="yahoo:ES=F"),)),
    (r"dow(?: jones)?(?: industrials?(?: average)?)?(?: index)?|djia", (_other("Dow Jones Industrial Average", source="yahoo:^DJI"),)),
    (r"russell(?: ?2000)?(?: index)?|small[- ]caps?(?: stocks)?", (_other("Russell 2000", source="yahoo:^RUT"),)),
    (r"ftse(?: ?100)?(?: index)?|footsie", (_other("FTSE 100", source="yahoo:^FTSE"),)),
    (r"\bdax\b(?: index)?", (_other("DAX", source="yahoo:^GDAXI"),)),
    (r"nikkei(?: ?225)?(?: index)?", (_other("Nikkei 225", source="yahoo:^N225"),)),
    (r"(?:euro ?)?stoxx(?: ?(?:50|600))?(?: index)?", (_other("Euro Stoxx"),)),
    (r"hang seng(?: index)?", (_other("Hang Seng", source="yahoo:^HSI"),)),
    (r"shanghai(?: composite)?(?: index)?|csi ?300", (_other("Shanghai Composite"),)),
    # energy and other goods
    (r"(?:crude|oil|crude oil)(?: prices?)? in london|brent(?: crude)?(?: oil)?(?: futures)?(?: prices?)?", (_other("Brent crude oil", source="yahoo:BZ=F"),)),
    (r"(?:crude|oil|crude oil)(?: prices?)? in new york(?: \(wti\))?|\bwti\b(?: crude)?(?: oil)?(?: spot)?(?: prices?)?|(?:american|us|u\.s\.) (?:crude(?: oil)?|oil)(?: prices?)?|west texas(?: intermediate)?(?: crude)?(?: oil)?|(?:nymex|light sweet) crude|\bcl(?: ?1)?\b", (_EMBEDDED["WTI"],)),
    (r"(?:spot )?(?:crude(?: oil)?|oil|barrel of (?:oil|crude)|black gold)(?: spot)?(?: prices?| barrel)?", (_EMBEDDED["WTI"], _other("Brent crude oil", source="yahoo:BZ=F"))),
    (r"(?:henry hub )?nat(?:ural)?[- ]?gas(?: futures)?(?: prices?)?|henry hub", (_other("natural gas", source="yahoo:NG=F"),)),
    (r"(?:a )?gallon of (?:regular )?(?:gas|gasoline)|(?:us |retail |regular )*(?:gasoline|petrol(?: in the (?:states|us))?|gas at the pump|pump prices)(?: prices?)?", (_other("US gasoline price", source="fred:GASREGW"),)),
    (r"(?:gold )?bullion|(?:the )?(?:yellow|precious) metal(?: prices?)?|(?:an? )?(?:ounce|oz) of gold|(?:spot )?gold(?: spot)?(?: prices?)?|\bgc\b(?=1? (?:drops|falls|above|below|>|<|avg|average|hits|at|closes|prints|tags|up|down))|xau ?/?(?:usd)?", (_other("gold", source="yahoo:GC=F"),)),
    (r"silver(?: prices?)?|xag ?/?(?:usd)?", (_other("silver", source="yahoo:SI=F"),)),
    (r"copper(?: prices?)?|\bhg\b", (_other("copper", source="yahoo:HG=F"),)),
    (r"(?:chicago )?wheat(?: futures)?(?: prices?)?", (_other("wheat"),)),
    (r"(?:bushel of )?corn(?: futures)?(?: prices?)?", (_other("corn"),)),
    (r"soy ?beans?(?: prices?)?", (_other("soybeans"),)),
    (r"iron ore(?: prices?)?", (_other("iron ore"),)),
    *((rf"{name}(?: futures)?(?: prices?)?", (_other(name, source=source),)) for name, source in (("platinum", "yahoo:PL=F"), ("palladium", "yahoo:PA=F"), ("coffee", "yahoo:KC=F"), ("cocoa", "yahoo:CC=F"), ("cotton", "yahoo:CT=F"), ("lumber", "yahoo:LBS=F"), ("uranium", ""), ("nickel", ""), ("zinc", ""), ("lithium", ""))),
    (r"(?:raw )?sugar(?: prices?)?", (_other("sugar", source="yahoo:SB=F"),)),
    (r"alumini?um(?: prices?)?", (_other("aluminium"),)),
    (r"heating oil(?: prices?)?", (_other("heating oil", source="yahoo:HO=F"),)),
    # markets of other countries
    (r"cac(?: ?40)?(?: index)?", (_other("CAC 40", source="yahoo:^FCHI"),)),
    (r"ibex(?: ?35)?", (_other("IBEX 35", source="yahoo:^IBEX"),)),
    (r"ftse mib|milan(?:'s)? (?:index|bourse)", (_other("FTSE MIB"),)),
    (r"(?:bse )?sensex", (_other("Sensex", source="yahoo:^BSESN"),)),
    (r"nifty(?: ?50)?", (_other("Nifty 50", source="yahoo:^NSEI"),)),
    (r"kospi", (_other("KOSPI", source="yahoo:^KS11"),)),
    (r"asx(?: ?200)?", (_other("ASX 200", source="yahoo:^AXJO"),)),
    (r"s&p/tsx|\btsx\b(?: composite)?", (_other("TSX", source="yahoo:^GSPTSE"),)),
    (r"i?bovespa", (_other("Bovespa", source="yahoo:^BVSP"),)),
    (r"msci (?:em\b|emerging markets)(?: index)?", (_other("MSCI Emerging Markets"),)),
    # money
    (r"bitcoin(?: prices?)?|\bbtc(?: ?/?-?usd)?\b", (_other("Bitcoin", source="yahoo:BTC-USD"),)),
    (r"ethereum|\beth(?: ?/?-?usd)?\b|\bether\b", (_other("Ether", source="yahoo:ETH-USD"),)),
    (r"eur ?/?-?usd|\beur\b(?= (?:trades?|hits?|above|below|at|breaks?))|(?:the )?single currency|(?:one )?euro(?! bonds?)(?! ?-?(?:area|zone|stoxx))(?:[- /](?:us )?dollar)?", (_other("EUR/USD", source="yahoo:EURUSD=X"),)),
    (r"usd ?/?-?jpy|dollar[- /]yen|(?:us )?dollar(?:'s)? (?:against|versus|vs) the yen", (_other("USD/JPY", source="yahoo:USDJPY=X"),)),
    (r"gbp ?/?-?usd|sterling|(?:the )?(?:british )?pound|cable", (_other("GBP/USD", source="yahoo:GBPUSD=X"),)),
    (r"aud ?/?-?usd|aussie(?: dollar)?|australian dollar", (_other("AUD/USD", source="yahoo:AUDUSD=X"),)),
    (r"nzd ?/?-?usd|kiwi(?: dollar)?", (_other("NZD/USD", source="yahoo:NZDUSD=X"),)),
    (r"usd ?/?-?cad|loonie|(?:the )?canadian dollar", (_other("USD/CAD", source="yahoo:USDCAD=X"),)),
    (r"usd ?/?-?chf|dollar[- /]swiss|swissy", (_other("USD/CHF", source="yahoo:USDCHF=X"),)),
    (r"eur ?/?-?gbp|euro[- /]sterling", (_other("EUR/GBP", source="yahoo:EURGBP=X"),)),
    (r"eur ?/?-?chf|euro[- /]swiss", (_other("EUR/CHF", source="yahoo:EURCHF=X"),)),
    (r"usd ?/?-?mxn|(?:mexican|dollar[- /])peso", (_other("USD/MXN", source="yahoo:USDMXN=X"),)),
    (r"usd ?/?-?inr|(?:indian |dollar[- /])?rupee", (_other("USD/INR", source="yahoo:USDINR=X"),)),
    (r"usd ?/?-?brl|brazil(?:ian)?(?:'s)? real", (_other("USD/BRL", source="yahoo:USDBRL=X"),)),
    (r"usd ?/?-?rub|(?:russian )?rou?ble", (_other("USD/RUB"),)),
    (r"usd ?/?-?zar|(?:south african )rand", (_other("USD/ZAR", source="yahoo:USDZAR=X"),)),
    (r"solana|\bsol ?/?usd\b", (_other("Solana", source="yahoo:SOL-USD"),)),
    (r"doge(?:coin)?", (_other("Dogecoin", source="yahoo:DOGE-USD"),)),
    (r"\bxrp\b|ripple", (_other("XRP", source="yahoo:XRP-USD"),)),
    (r"litecoin", (_other("Litecoin", source="yahoo:LTC-USD"),)),
    (r"usd ?/?-?cny|usd ?/?-?cnh|dollar[- /]yuan", (_other("USD/CNY", source="yahoo:USDCNY=X"),)),
    (r"usd ?/?-?try|turkish lira", (_other("USD/TRY", source="yahoo:USDTRY=X"),)),
    (r"(?:broad )?trade[- ]weighted (?:us )?dollar(?: index)?", (_other("trade-weighted US dollar index", source="fred:DTWEXBGS"),)),
    (r"\bdxy\b|(?:us )?dollar index", (_other("US dollar index", source="yahoo:DX-Y.NYB"),)),
    (r"the (?:us )?(?:dollar|greenback)", (_other("US dollar index", source="yahoo:DX-Y.NYB"), _other("trade-weighted US dollar index", source="fred:DTWEXBGS"))),
    # rates
    (rf"(?:the )?(?:yield on the |yields on )?(?:us |u\.s\. )?(?:treasury )?\b10{_Y}{_TREASURY}|\btnx\b|\bust ?10s?\b|\btens\b", (_other("10-year Treasury yield", "rate", source="fred:DGS10"),)),
    (rf"(?:us |u\.s\. )?(?:treasury )?\b2{_Y}{_TREASURY}", (_other("2-year Treasury yield", "rate", source="fred:DGS2"),)),
    (rf"(?:us |u\.s\. )?(?:treasury )?\b(?<!rates \()(?<!rate \()30{_Y}{_TREASURY}(?<!mortgage)(?! (?:fixed|mortgage))|(?:the )?long bond(?: yields?)?", (_other("30-year Treasury yield", "rate", source="fred:DGS30"),)),
    (rf"(?:us |u\.s\. )?(?:treasury )?\b5{_Y}{_TREASURY}", (_other("5-year Treasury yield", "rate", source="fred:DGS5"),)),
    (r"(?:us )?(?:3|three)[- ]month (?:t-?bills?|treasury(?: bills?)?|libor)(?: yields?| rates?)?|\blibor\b", (_other("3-month rate", "rate"),)),
    (r"(?:german |10-?year )*bunds?(?: yields?)?", (_other("German 10-year yield", "rate"),)),
    (rf"(?:(?:us |average )?30{_Y} (?:fixed )?)?(?:fixed )?mortgage rates?(?: \(30{_Y}\))?|(?:average )?30{_Y}(?: fixed)? mortgages?(?: rates?)?", (_other("30-year mortgage rate", "rate", source="fred:MORTGAGE30US"),)),
    (r"(?:effective |target )?fed(?:eral)? ?funds?(?: target| effective)?(?: rates?)?(?: upper bound)?|fed'?s? (?:policy |target )?rates?|(?:fed(?:eral)? funds )target|(?:the )?(?:target range for the )?(?:fed(?:eral)? )?funds rate(?: target)?|\bffr\b", (_other("federal funds rate", "rate", source="fred:DFEDTARU"),)),
    (r"(?:(?:its|the|their) )?(?:target|benchmark|policy|key|base|main|overnight)(?: interest| lending| policy)? (?:rate|range)|(?:its|their) (?:interest )?rates?(?= (?:by|to|in|at|on|this|before|again|W|target))|(?<!mortgage )(?<!unemployment )\brate(?= (?:hikes?|cuts?|increases?|rises?|reductions?)\b)|(?:the )?(?:fed(?:eral reserve)?|fomc)(?= (?:will |is going to |to |does not |doesn't |won't |will not |have |has |chair )*(?:pauses?|skips?|cuts?|hikes?|hiked|raised|lowered|raises?|lowers?|lifts?|slashes|increases?|reduces?|holds?|keeps?|leave[s]?|leave|moves?|on hold)\b)", (_other("federal funds rate", "rate", source="fred:DFEDTARU"),)),
    (r"(?:us |a |the )*recession", (_other("US recession indicator", "count", monthly=True),)),
    (r"interest rates|the (?:policy )?rate", (_other("federal funds rate", "rate", source="fred:DFEDTARU"), _other("10-year Treasury yield", "rate", source="fred:DGS10"))),
    (r"ecb(?:'?s)? (?:deposit |main |policy )?(?:rates?|facility)", (_other("ECB deposit rate", "rate", source="fred:ECBDFR"),)),
    (r"(?:boe|bank of england)(?:'?s)? (?:bank |base |policy )?rate|uk bank rate", (_other("Bank of England Bank Rate", "rate"),)),
    (r"(?:corporate )?(?:moody'?s )?\baaa\b(?:[- ]rated)?(?: corporates?)?(?: bonds?)?(?: yields?)?", (_EMBEDDED["AAA"],)),
    (r"(?:the )?(?:borrowing costs|yields?)(?: (?:of|on|for))? (?:moody'?s )?baa\b(?:[- ]rated)?(?: corporates?)?(?: (?:bonds?|companies|firms|borrowers|debt))*|(?:corporate )?(?:moody'?s )?\bbaa\b(?:[- ]rated)?(?: corporates?)?(?: bonds?)?(?: yields?)?", (_EMBEDDED["BAA"],)),
    (r"corporate (?:bond )?yields?", (_EMBEDDED["BAA"], _EMBEDDED["AAA"])),
    # the economy
    (r"(?:us |u\.s\. )?(?:consumer (?:price )?)?(?:inflation|cpi|consumer prices|prices),? ?\(?(?:ex-?|excluding|stripping out|without|less|leaving out) ?(?:volatile )?food (?:and|&) energy(?: costs| prices)?\)?,?|(?:us |u\.s\. )?underlying inflation", (_CORE,)),
    (r"(?:us |u\.s\. )?core (?:consumer )?inflation(?: rate)?|core consumer prices", (_CORE,)),
    (r"(?:us |u\.s\. )?core[ _]cpi(?: index| inflation)?|cpi (?:ex|excluding) food and energy|core consumer price index", (_EMBEDDED["CORE_CPI"],)),
    (r"core pce(?: inflation| price index| deflator)?", (_other("US core PCE", "index", monthly=True, growth="yoy", source="fred:PCEPILFE"),)),
    (r"\bpce\b(?: inflation| price index| deflator)?", (_other("US PCE inflation", "index", monthly=True, growth="yoy", source="fred:PCEPI"),)),
    (r"(?:us |u\.s\. )?headline (?:cpi|inflation)(?: inflation| rate)?", (_HEADLINE,)),
    (r"(?:euro area|euro-?zone)(?: headline)? (?:hicp|cpi|inflation)(?: inflation)?(?: rate)?|\bhicp\b(?: inflation)?", (_other("euro area HICP", "index", monthly=True, growth="yoy"),)),
    (r"(?:uk|british|eurozone|euro area|euro-?zone|german|japanese|chinese|canadian|french) (?:headline |core )?(?:cpi|inflation|hicp)(?: rate)?", ()),
    (r"(?:us |u\.s\. |consumer (?:price )?)?(?<!cpi )(?<!hicp )inflation(?: rate)?", (_CORE, _HEADLINE)),
    (r"(?:us |u\.s\. )?(?:headline )?\bcpi\b(?: inflation| index)?|(?:us |u\.s\. )?consumer prices|consumer price index", (_HEADLINE,)),
    (r"(?:us )?ppi|producer prices?(?: index)?", (_other("US PPI", "index", monthly=True, growth="yoy"),)),
    (r"initial (?:jobless )?claims,? (?:4|four)[- ]w(?:ee)?k (?:moving )?average", (_other("initial jobless claims 4-week average", "count", source="fred:IC4WSA"),)),
    (r"(?:initial |weekly |us )*jobless claims|weekly claims for (?:unemployment|jobless) benefits|\bclaims\b(?= (?:sub|above|below|under|over|<|>))|initial claims|unemployment claims", (_other("US initial jobless claims", "count", source="fred:ICSA"),)),
    (r"(?:america'?s |us |u\.s\. )?(?:unemployment|jobless)(?: rate)?|\bu-?3\b", (_other("US unemployment rate", "rate", monthly=True, source="fred:UNRATE"),)),
    (r"(?:the )?(?:us |american )?(?:economy|employers)(?= (?:is going to |are going to |will |to )?(?:adds?|creates?) )|(?:us )?(?:non-?farm )?payrolls?(?: growth| gains?| employment)?|jobs added|\bnfp\b", (_other("US nonfarm payrolls", "count", monthly=True, growth="change"),)),
    (r"(?:us |u\.s\. )?(?:real )?gdp(?: growth)?(?: rate)?|(?:the )?(?:us |u\.s\. |american )?(?:economy|economic growth)(?= (?:grows?|expands?|shrinks?|contracts?|will (?:grow|expand|shrink|contract)|to (?:grow|shrink)))", (_other("US real GDP", "index", monthly=True, growth="annualized"),)),
    (r"ism (?:services|non-?manufacturing)(?: pmi| index)?|services pmi", (_other("ISM services PMI", "index", monthly=True),)),
    (r"jolts(?: job openings)?|job openings", (_other("US job openings", "count", monthly=True),)),
    (r"durable goods(?: orders)?", (_other("US durable goods orders", "index", monthly=True, growth="mom"),)),
    (r"(?:us )?building permits", (_other("US building permits", "count", monthly=True),)),
    (r"(?:us )?trade (?:deficit|gap)", (_other("US trade deficit", "count", monthly=True),)),
    (r"continuing (?:jobless )?claims", (_other("US continuing jobless claims", "count", source="fred:CCSA"),)),
    (r"(?:labou?r force )?participation rate", (_other("US labor force participation rate", "rate", monthly=True, source="fred:CIVPART"),)),
    (r"capacity utili[sz]ation", (_other("US capacity utilization", "rate", monthly=True, source="fred:TCU"),)),
    (r"personal savings? rate|savings? rate", (_other("US personal saving rate", "rate", monthly=True, source="fred:PSAVERT"),)),
    (r"philly fed(?: index)?", (_other("Philadelphia Fed manufacturing index", "index", monthly=True),)),
    (r"empire state(?: (?:index|survey|manufacturing))*", (_other("Empire State manufacturing index", "index", monthly=True),)),
    (r"retail sales,? (?:ex-?|excluding )autos?", (_other("retail sales excluding autos", "index", monthly=True, growth="mom"),)),
    (r"(?:us )?(?:core )?retail sales", (_other("US retail sales", "index", monthly=True, growth="mom"),)),
    (r"(?:us )?housing starts", (_other("US housing starts", "count", monthly=True),)),
    (r"(?:us )?(?:new|existing) home sales", (_other("US home sales", "count", monthly=True),)),
    (r"(?:us )?(?:case[- ]shiller(?: 20[- ]city)?|house prices|home prices)(?: index)?", (_other("Case-Shiller home prices", "index", monthly=True, growth="yoy"),)),
    (r"(?:us |american )?industrial (?:production|output)(?: growth)?", (_other("US industrial production", "index", monthly=True, growth="mom"),)),
    (r"(?:us )?(?:ism|manufacturing)(?: manufacturing)?(?: pmi| index)?|\bpmi\b", (_other("ISM manufacturing PMI", "index", monthly=True),)),
    (r"(?:(?:u(?:niversity of )?\.? ?)?mich(?:igan)? )?consumer sentiment(?: index)?|umich(?: sentiment)?", (_other("Michigan consumer sentiment", "index", monthly=True, source="fred:UMCSENT"),)),
    (r"(?:conference board )?consumer confidence(?: index)?", (_other("Conference Board consumer confidence", "index", monthly=True),)),
    (r"average hourly earnings(?: growth)?|wage growth|wages", (_other("US average hourly earnings", "index", monthly=True, growth="yoy", source="fred:CES0500000003"),)),
    (r"\bvxn\b", (_other("VXN", "index", source="yahoo:^VXN"),)),
)  # fmt: skip

_COMPANIES = words(
    """
    apple:aapl tesla:tsla amazon:amzn google:googl alphabet:goog microsoft:msft facebook:fb meta:meta
    netflix:nflx nvidia:nvda exxon:xom boeing:ba intel:intc ge:ge disney:dis walmart:wmt jpmorgan:jpm
    goldman:gs citigroup:c ford:f gm:gm ibm:ibm at&t:t twitter:twtr uber:uber amd:amd berkshire:brk
    pfizer:pfe coca-cola:ko pepsico:pep mcdonald's:mcd starbucks:sbux nike:nke costco:cost home_depot:hd oracle:orcl cisco:csco
    salesforce:crm adobe:adbe paypal:pypl micron:mu qualcomm:qcom broadcom:avgo roku:roku spotify:spot palantir:pltr
    coinbase:coin morgan_stanley:ms wells_fargo:wfc verizon:vz comcast:cmcsa johnson_&_johnson:jnj procter_&_gamble:pg
    merck:mrk unitedhealth:unh visa:v mastercard:ma shopify:shop alibaba:baba tsmc:tsm asml:asml eli_lilly:lly
    gamestop:gme lockheed_martin:lmt american_airlines:aal fedex:fdx halliburton:hal schlumberger:slb blackberry:bb
    deutsche_bank:db snapchat:snap lyft:lyft moderna:mrna biontech:bntx snowflake:snow airbnb:abnb dell:dell hp:hpq
    caterpillar:cat chevron:cvx bank_of_america:bac goldman_sachs:gs
    """
)
#: Tickers that are words, or too short to be told from them.
_WORDY = {
    "cost",
    "spot",
    "coin",
    "shop",
    "snap",
    "snow",
    "ms",
    "ma",
    "mu",
    "hd",
    "ko",
    "pep",
    "pg",
    "bb",
    "db",
    "hal",
    "crm",
}
#: Tickers under which Yahoo has a company now; "" for one that it no longer has.
_LISTED = {"fb": "yahoo:META", "brk": "yahoo:BRK-B", "twtr": ""}
_TAIL = r"(?:'s)?(?: (?:index|levels?|prices?|shares?|stock(?: price)?|value|quote))?"
_PATTERNS = [
    *(
        (
            re.compile(rf"(?<![\w.&])(?:{pattern})(?![\w&]){_TAIL}(?!\w)"),
            refs,
        )
        for pattern, refs in _NAMES
    ),
    *(
        (
            re.compile(
                rf"(?<![\w.&])\$?(?:{name if len(ticker) == 1 or ticker in _WORDY else f'{name}|{ticker}'})s?(?![\w&]){_TAIL}(?!\w)"
            ),
            (_other(ticker.upper(), source=_LISTED.get(ticker, f"yahoo:{ticker.upper()}")),),
        )
        for name, _, ticker in (each.replace("_", " ").partition(":") for each in sorted(_COMPANIES))
    ),
]

#: Words that say which series may be meant where nothing in a text names one; only ever offered.
_HINTS: tuple[tuple[str, str], ...] = (
    (r"core prices|underlying prices", "embedded:CORE_CPI"), (r"30[- ]ye?a?r fixed|fixed rates?|home loans?", "30-year mortgage rate"), (r"claims", "US initial jobless claims"),
    (r"fed|fomc|federal reserve|powell|yellen|bernanke|central bank|policymakers|rate (?:hike|cut)s?|rates", "federal funds rate"),
    (r"yen|jpy", "USD/JPY"), (r"euros?|single currency|eur", "EUR/USD"), (r"pound|quid|gbp", "GBP/USD"), (r"yuan|renminbi|rmb|cny", "USD/CNY"),
    (r"lira", "USD/TRY"), (r"dollar|greenback|buck", "US dollar index"),
    (r"treasur(?:y|ies)|bond yields?|long(?:-term)? (?:rates|yields)|yields?|bonds", "10-year Treasury yield"), (r"mortgages?", "30-year mortgage rate"),
    (r"stocks?|equit(?:y|ies)|shares|bourse|index|market|bulls|bears", "embedded:SP500"), (r"tech", "embedded:NASDAQ"), (r"vol|volatility|fear", "embedded:VIX"),
    (r"crude|oil|barrels?|opec|petroleum", "embedded:WTI"), (r"gas", "natural gas"), (r"petrol|pump", "US gasoline price"), (r"metal", "gold"), (r"coin|crypto", "Bitcoin"),
    (r"jobs?|hiring|employment|payrolls|employers", "US nonfarm payrolls"), (r"jobless|layoffs|benefits", "US initial jobless claims"), (r"joblessness", "US unemployment rate"),
    (r"economy|growth|output", "US real GDP"), (r"inflation|prices|cost of living", "US headline CPI"), (r"sentiment|mood|michigan|mich", "Michigan consumer sentiment"),
    (r"confidence", "Conference Board consumer confidence"), (r"factor(?:y|ies)|manufactur(?:ing|ers)|ism|purchasing managers", "ISM manufacturing PMI"), (r"wages?|pay|earnings", "US average hourly earnings"),
    (r"houses?|homes?|housing", "Case-Shiller home prices"), (r"homebuilding|builders", "US housing starts"), (r"junk|high[- ]yield", "US high-yield spread"), (r"credit|spreads?", "embedded:SPREAD"), (r"curve", "10-year minus 2-year Treasury spread"),
    (r"shoppers|retailers|consumer spending", "US retail sales"),
)  # fmt: skip


#: Names under which nobody can tell a series.
VAGUE = words(
    """
    it they things thing everything something economy the situation world prices price rates yields bonds
    sentiment risk commodities currencies crypto tech volatility the in company firm stock shares share its our short long buy sell
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesMention:
    """Where a text names a series, and which ones may be meant, nearest first."""

    start: int
    end: int
    candidates: tuple[SeriesName, ...]


def mentions(plain: str) -> tuple[SeriesMention, ...]:
    """Return the series that a plain text names, in the order of the text.

    >>> [each.candidates[0].ref for each in mentions("nasdaq beats sp500 in h2 2018")]
    ['embedded:NASDAQ', 'embedded:SP500']
    """
    matched: list[SeriesMention] = []
    for pattern, candidates in _PATTERNS:
        for match in pattern.finditer(plain):
            if all(match.end() <= each.start or match.start() >= each.end for each in matched):
                named = candidates or (SeriesName(ref=match[0].upper(), article=match[0].upper()),)
                matched.append(SeriesMention(start=match.start(), end=match.end(), candidates=named))
    return tuple(sorted(matched, key=lambda each: each.start))


#: Quoted as so much for a dollar, and talked of by their own names: they rise where the quotation falls.
PER_DOLLAR = (
    "USD/JPY",
    "USD/CNY",
    "USD/TRY",
    "USD/CAD",
    "USD/CHF",
    "USD/MXN",
    "USD/INR",
    "USD/BRL",
    "USD/RUB",
    "USD/ZAR",
)


def hinted(plain: str) -> tuple[SeriesMention, ...]:
    """Return the series that the words of a text hint at, where it names none.

    >>> [each.candidates[0].ref for each in hinted("powell and co raise by december")]
    ['federal funds rate']
    """
    for pattern, ref in _HINTS:
        if match := re.search(rf"(?<![\w'])(?:{pattern})(?![\w'])", plain):
            return (SeriesMention(start=match.start(), end=match.end(), candidates=(hinted_name(ref),)),)
    return ()


def hinted_name(ref: str) -> SeriesName:
    """Return a known name by its reference."""
    return next(each for _, candidates in _NAMES for each in candidates if each.ref == ref)


def reachable(candidates: Sequence[SeriesName], sources: Sequence[str]) -> tuple[SeriesName, ...]:
    """Return those of several candidates that a text may mean here.

    Of two goods that go by one word ("oil") those that a source at hand holds; two measures of one thing (headline and core prices,
    two indexes of one market) stay a choice, because nobody who means the one takes the other for it.
    """
    if (
        any(each.growth or each.kind != "price" for each in candidates)
        or len({each.embedded for each in candidates} - {""}) > 1
    ):
        return tuple(candidates)
    at_hand = tuple(each for each in candidates if ":" in each.ref and each.ref.partition(":")[0] in sources)
    return at_hand or tuple(candidates)
