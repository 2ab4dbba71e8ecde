const list = (words: string) => words.split(/\s+/).filter(Boolean)

/** Function words of the most frequent languages. */
const grammar = list(`
a about above after again against all also am an and any are as at be because been before being
below between both but by can cannot could did do does doing done down during each either else ever
every few for from further get gets getting go goes going gone got had has have having he her here
hers herself him himself his how however i if in into is isn it its itself just let lets ll many may
maybe me might more most much must my myself neither no nor not now of off on once one only onto or
other others our ours out over own per quite rather re same shall she should since so some such than
that the their theirs them themselves then there these they this those though through thus to too
under until up upon us ve very via was wasn we were what whatever when where whether which while who
whom whose why will with within without would yet you your yours yourself don doesn didn won
der die das den dem des ein eine einer einem einen und oder aber nicht kein keine ist sind war
waren wird werden hat haben ich du er sie es wir ihr mit von zu zum zur auf aus bei nach für über
unter wie wer wo wann warum was als auch noch nur schon sich mich dich im am
le la les un une des du de et ou mais ne pas est sont était je tu il elle nous vous ils elles que qui
quoi où quand pourquoi comment avec sans pour par sur sous dans ce cette ces mon ma mes son sa ses au
aux en plus se
el los las una unos unas y o pero no es son era yo tú él ella nosotros ellos que quién qué dónde
cuándo cómo por para con sin sobre en del al su sus mi mis lo más se
il lo gli uno e ma non è sono io tu lui lei noi voi che chi cosa dove quando perché come con senza per
di da su nel della dei
o os as um uma e mas não é são eu ele ela nós que quem onde quando como com sem por para em do da dos
das seu sua
de het een en of maar niet is zijn was ik jij hij zij wij wat wie waar wanneer waarom hoe met voor op
и в во не на я что тот быть с со а весь это как она по но они к у ты из мы за вы так же от то о бы
`)

/** Words of asking and of the hub itself, rather than of a subject. */
const asking = list(`
anybody anyone anything ask asked asking answer answers archive anywhere comment comments commented
community communities discuss discussed discussing discussion discussions everybody everyone
everything explain find found give hello hey hi hub know known knows link links look looking mean
mention mentioned mentioning mentions nobody nothing opinion opinions people please point post posted
posting posts question questions quote read recap recommend reply replies said say saying says scout
search searching share show somebody someone something source summarise summarize summary talk talked
talking talks tell tells thank thanks think thinks thoughts thread threads topic topics user users
wonder wondering word words write writes writing wrote written
`)

/** Words that occur in nearly every thread: they get a low weight. */
const common = list(`
able actual actually add again agent agents agree agreed ai already always another around ask away back bad become
began begin best better big bit bot bots build building built call called came case change check choose choosing chose chosen come
coming course current currently day days deal decide decided decides deciding decision decisions different easy end enough even exactly example fact feel first
follow full fun good great hand happen happened hard help helped helping high hope human humans idea
ideas important interesting job join keep kind large last late later lead learn learned learning left
less level life like little live long lot made main make makes making matter means model models moment
money month most move name need needed needs never new next nice number often old open part people
pick picked place plan play possible problem problems project put ready real really reason recent right run running
second see seem seen set settle settled simple single small sort start started state step still stop story sure system
take taken talk task tasks team thing things thought time times today together tool tools top tried try
trying turn two type use used useful using usually wait want wanted wants watch way ways week weeks
well went whole work worked working works world worth wrong year years
`)

/** Verbs with which somebody asks for something. */
const requests = list(`
please find tell show search look list summarize summarise explain give check help answer ask say write delete
create remind translate sum bitte
`)

const requestWords = new Set(requests)
const functionWordSet = new Set(grammar)
const askingWords = new Set(asking)
const commonWords = new Set(common)

/** Whether a word is a function word or a word of asking; lower case, with or without diacritics. */
export const isStopWord = (word: string): boolean =>
  functionWordSet.has(word) || askingWords.has(word)
export const isRequestWord = (word: string): boolean => requestWords.has(word)
export const isCommonWord = (word: string): boolean => commonWords.has(word)
