"""Words for rising, falling, reaching, ending and holding, by what they say of a series and not by where they stand."""

import re
from collections.abc import Iterable


def _inflected(bases: str) -> Iterable[str]:
    """Yield the regular forms of verbs, and what is no verb as it is."""
    for each in bases.split():
        word, _, particle = each.partition("+")
        tail = f" {particle}" if particle else ""
        stem = word.removesuffix("e")
        forms = {word, word + "s", word + "es", word + "ed", word + "ing", stem + "ed", stem + "ing", word + word[-1] + "ed", word + word[-1] + "ing"}  # fmt: skip
        if word.endswith("y"):
            forms |= {word[:-1] + "ies", word[:-1] + "ied"}
        yield from sorted(form + tail for form in forms)


def _pattern(verbs: str, phrases: str = "") -> re.Pattern[str]:
    words = sorted({*_inflected(verbs), *(each.replace("_", " ") for each in phrases.split())}, key=len, reverse=True)  # fmt: skip
    return re.compile(r"(?<![\w'])(?:" + "|".join(re.escape(each) for each in words) + r")(?![\w'])")


UP = _pattern(
    """
    rise climb gain advance jump surge soar rally rebound recover bounce spike leap vault zoom rocket skyrocket balloon swell
    grow expand increase strengthen firm appreciate improve pop rip explode mount ascend lift boost accelerate add tack+on widen
    steepen reclaim regain recoup retake recapture top hurdle eclipse surpass exceed overtake hike raise heat+up blow+out melt+up
    break+out power+ahead erupt shoot+up ramp inflate overshoot outgrow double triple quadruple move+up go+up tick+up inch+up edge+up creep+up push+up
    """,
    """
    rose risen grew grown went_up gone_up higher up upside upward upwards stronger dearer pricier costlier wider steeper bigger
    larger greener positive green black upturn uptick upswing moonshot bull_market bull bullish hotter richer better gainer to_the_moon goes_up
    """,
)
DOWN = _pattern(
    """
    fall drop decline slip slide slump sink plunge plummet tumble crash collapse crater dive nosedive tank dip ease soften weaken
    cool retreat recede retrace shed lose erase surrender cede fade wane shrink contract narrow tighten flatten compress invert
    deflate cut lower slash reduce trim undershoot undercut bleed capitulate correct depreciate descend languish moderate abate
    subside halve swoon stumble falter slow decrease pull+back sell+off give+up give+back roll+over back+off cave crumble implode diminish
    decelerate wobble drift+lower melt+down go+down move+down tick+down inch+down edge+down creep+down come+down drain dump puke sag plumb
    """,
    """
    fell fallen sank sunk lost went_down gone_down lower down downside downward downwards weaker cheaper narrower tighter flatter
    smaller negative red downturn downtick downswing bear_market bear bearish softer cooler correction pullback selloff sell-off drawdown worse inversion loser rout
    """,
)
ABOVE = _pattern(
    "exceed surpass eclipse hurdle overtake overshoot top clear",
    """
    above over beyond past north_of more_than higher_than greater_than better_than bigger_than hotter_than stronger_than wider_than
    upwards_of upward_of in_excess_of faster_than steeper_than dearer_than > on_top_of the_right_side_of better larger_than
    """,
)
BELOW = _pattern(
    "undershoot undercut",
    """
    below under beneath underneath south_of sub less_than lower_than fewer_than smaller_than weaker_than softer_than cooler_than
    shy_of short_of slower_than tighter_than narrower_than cheaper_than < no_longer_above the_wrong_side_of flatter_than
    """,
)
AT_LEAST = _pattern(
    "",
    """
    at_least no_less_than no_lower_than at_or_above at_or_over at_or_beyond not_below not_less_than not_under a_minimum_of >= or_more or_higher
    or_above or_better or_over or_greater and_above and_higher or_up plus + or_wider and_up or_stronger or_north or_hotter
    """,
)
AT_MOST = _pattern(
    "",
    """
    at_most no_more_than no_higher_than no_greater_than at_or_below at_or_under at_or_beneath not_above not_more_than not_over a_maximum_of <= or_less or_lower
    or_below or_under or_fewer and_below up_to or_cheaper or_tighter or_weaker or_cooler or_south not_exceeding
    """,
)
REACH = _pattern(
    "reach touch hit tag see test print attain breach cross break pierce visit revisit get make trade+at notch regain reclaim punch smash challenge flirt find",
    "broke saw seen got made through at_some_point at_some_stage sometime at_any_point at_any_time anytime at_least_once once ever intraday",
)
END = _pattern(
    "close end finish settle conclude wrap+up exit leave",
    "year-end at_the_close on_the_close",
)
HOLD = _pattern(
    "stay remain hold keep hover persist linger sit stick confine pin anchor cap range hug camp defend stuck",
    """
    throughout the_whole the_entire all_year all_quarter all_month all_week at_all_times all_the_time kept held range-bound rangebound
    each_day every_day every_session every_single_day never without_ever at_no_point not_once at_no_time each_month every_month ceiling floor support in_each in_every all_through
    """,
)
#: A ceiling holds from above, a floor from below.
CEILING = _pattern("cap", "ceiling resistance lid")
FLOOR = _pattern("defend", "floor support")
NEGATION = _pattern(
    "avoid fail refuse doubt escape",
    "not never no nor neither n't won't can't cannot don't doesn't isn't wouldn't didn't ain't without unlikely no_way shy_away",
)
MEAN = _pattern("average", "mean avg on_average averages averaged typical")
VOLATILITY = _pattern("", "volatility vol vols realized realised")
RECORD_HIGH = re.compile(r"(?<![\w'])(?:(?:new|fresh|another|record|all-time|all time|lifetime|historic|unprecedented|X+)[ -](?:[a-z-]+ ){0,2}?(?:highs?|records?|peaks?|aths?|territory)|aths?|record(?:[- ]setting)?|highest (?:[a-z]+ )?(?:ever|on record|in history)|uncharted territory)(?![\w'])")  # fmt: skip
RECORD_LOW = re.compile(r"(?<![\w'])(?:(?:new|fresh|another|record|all-time|all time|lifetime|historic|X+)[ -](?:[a-z-]+ ){0,2}?(?:lows?|troughs?|bottoms?)|lowest (?:[a-z]+ )?(?:ever|on record|in history))(?![\w'])")  # fmt: skip
HIGHEST = _pattern("", "highest high highs peak peaks maximum max top_tick")
LOWEST = _pattern("", "lowest low lows trough troughs minimum min bottom")
FROM_PEAK = re.compile(r"(?<![\w'])(?:(?:from|off|below|under|since) (?:[a-z0-9'-]+ ){0,4}?(?:peaks?|highs?|top|ath)|drawdown|peak[- ]to[- ]trough|correction|bear market|pullback|pull-back|retraces?|sell-?off)(?![\w'])")  # fmt: skip
FROM_TROUGH = re.compile(r"(?<![\w'])(?:from|off|above|since) (?:[a-z0-9'-]+ ){0,4}?(?:lows?|troughs?|bottom)(?![\w'])")  # fmt: skip
ONE_STEP = re.compile(r"(?<![\w'])(?:one|single|1+|any|a|any one|any single|at least one)[- ]?(?:day|session|daily)(?: [a-z]+)?(?![\w'])|A (?:up|down|green|red)?[ -]?(?:day|session)|(?<![\w'])(?:daily|intraday (?:drop|fall|decline|loss|gain|rise|rally|move|jump|swing)|in a day|overnight|(?:on|in) (?:any|some|one|a single) (?:given |trading )*(?:day|session|date))(?![\w'])")  # fmt: skip
BEATS = _pattern(
    "beat outperform outpace outgain outrun outshine outstrip exceed top lead trounce eclipse surpass best outdo crush thrash win",
    "ahead_of better_than more_than faster_than higher_than greater_than bigger_than over_and_above",
)
TRAILS = _pattern("underperform lag trail lose+to", "behind worse_than less_than slower_than lower_than")
UNCHANGED = _pattern(
    "pause skip refrain hold keep leave",
    "nothing unchanged no_move no_hike no_cut on_hold pat no_change steady flat standing_still where_it_is where_they_are alone sits_tight",
)
EITHER_WAY = re.compile(r"(?<![\w'])(?:either (?:way|direction)|up or down|both ways|one way or (?:the other|another)|in any direction|moves?|swings?|swing|move)(?![\w'])")  # fmt: skip

__all__ = [
    "ABOVE", "AT_LEAST", "AT_MOST", "BEATS", "BELOW", "CEILING", "DOWN", "EITHER_WAY", "END", "FLOOR", "FROM_PEAK", "FROM_TROUGH", "HIGHEST", "HOLD", "LOWEST", "MEAN",
    "NEGATION", "ONE_STEP", "REACH", "RECORD_HIGH", "RECORD_LOW", "TRAILS", "UNCHANGED", "UP", "VOLATILITY",
]  # fmt: skip
