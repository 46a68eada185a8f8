"""The words of the honest pages of the corpus, in the scripts that trouble a reader of HTML."""

from typing import NamedTuple


class Words(NamedTuple):
    """A headline, two sentences and two labels."""

    title: str
    first: str
    second: str
    one: str
    two: str
    right_to_left: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """What a reader reads."""
        return self[:5]


LANGUAGES = {
    "en": Words("Statement of the committee", "The Committee decided to maintain the target range at 5-1/4 percent.", "Inflation has eased over the past year but remains elevated.", "Rate", "Outlook"),
    "tr": Words("İSTANBUL'DA SEÇİM", "Işıklar ılık ırmağın kıyısında İzmir'i aydınlattı.", "Merkez Bankası politika faizini yüzde 50'de sabit tuttu.", "Oy oranı", "Katılım İL İL"),
    "de": Words("Zinsentscheid der Notenbank", "Die Bundesverfassungsgerichtsentscheidung überraschte große Teile der Öffentlichkeit.", "Straße, Maß und STRASSE: der Anteil stieg auf 3,5 %.", "Arbeitslosenquote", "Größe"),
    "ar": Words("قرار البنك المركزي", "أبقى البنك المركزي سعر الفائدة دون تغيير عند ٥٫٢٥٪.", "قال المتحدث إنّ النموّ سيبقى ضعيفًا في 2024.", "السعر", "التوقعات", True),
    "fa": Words("نتایج انتخابات", "رأی‌گیری در خانه‌های سال‌خوردگان نیز برگزار می‌شود.", "می‌خواهم کتاب‌هایم را بخوانم.", "رأی‌ها", "نامه‌ها", True),
    "he": Words("החלטת הבנק המרכזי", "בנק ישראל הותיר את הריבית ללא שינוי ברמה של 4.5%.", "הוועדה צופה צמיחה של 2% בשנת 2024.", "ריבית", "תחזית", True),
    "ur": Words("انتخابات کے نتائج", "کمیشن نے کہا کہ نتائج کل جاری کیے جائیں گے۔", "شرح سود میں کوئی تبدیلی نہیں ہوئی۔", "شرح", "ووٹ", True),
    "hi": Words("ब्याज दर का निर्णय", "समिति ने दर को 6.5 प्रतिशत पर बनाए रखा, क्\u200dया यह ठीक है?", "शक्\u200cति और विकास पर ध्यान रहेगा।", "दर", "पूर्वानुमान"),
    "th": Words("ผลการเลือกตั้ง", "คณะกรรมการมีมติคงอัตราดอกเบี้ยนโยบายไว้ที่ร้อยละ 2.50", "เศรษฐกิจน้ำมันดีขึ้น", "อัตรา", "แนวโน้ม"),
    "ja": Words("金融政策決定会合", "日本銀行は政策金利を据え置くことを決めた。", "が行とパ行、全角ＡＢＣと１２３。", "金利", "見通し"),
    "ko": Words("기준금리 결정", "한국은행은 기준금리를 연 3.50%로 유지했다.", "물가 상승률은 둔화되고 있다.", "금리", "전망"),
    "zh": Words("央行利率决议", "中国人民银行维持贷款市场报价利率不变。", "预计今年增长百分之五左右。", "利率", "展望"),
    "vi": Words("Kết quả bầu cử", "Ngân hàng Nhà nước giữ nguyên lãi suất điều hành.", "Tie\u0302\u0301ng Vie\u0323\u0302t vie\u0302\u0301t ba\u0306\u0300ng da\u0302\u0301u ro\u031b\u0300i.", "Lãi suất", "Triển vọng"),
    "ru": Words("Решение по ставке", "Банк России сохранил ключевую ставку на уровне шестнадцати процентов.", "Ёлки, подъезд и инфляция: 7,4 %.", "Ставка", "Прогноз"),
    "el": Words("Απόφαση για τα επιτόκια", "Η κεντρική τράπεζα διατήρησε αμετάβλητα τα επιτόκια.", "ΟΔΥΣΣΕΥΣ, Οδυσσεύς και ΐ ΰ.", "Επιτόκιο", "Προοπτικές"),
    "emoji": Words("Match day 👨‍👩‍👧‍👦", "The team 👩🏽‍🚀 won 3:1 and the crowd ❤️‍🔥 sang 🏳️‍🌈.", "Flags 🇹🇷 🇩🇪 and keycaps 1️⃣.", "Goals ⚽", "Cards 🟨"),
}  # fmt: skip
