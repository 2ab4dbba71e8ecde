import { extractTerms, specificWeightMin, toWords } from '../../text/words'

/** What somebody wants of the agent, other than a search. */
export type Intent = 'help' | 'agents' | 'thanks' | 'correction' | 'news' | 'summary' | 'writing'

const greeting =
  /^(?:(?:hi|hello|hey|yo|howdy|greetings|hallo|servus|moin|hola|bonjour|ciao|good (?:morning|afternoon|evening|day)|guten (?:tag|morgen|abend)|there|all|everyone|everybody|team|scout|today|how are you|how's it going|what's up|are you (?:there|awake|online)|test|testing|ping|please)(?:[\s,.!?:)\u2013-]+|$))+/i

/** The first that matches a text without a greeting decides. Those of `alone` match only texts without a subject. */
const patterns: { intent: Intent; pattern: RegExp; alone?: true; wordsMax?: number }[] = [
  {
    intent: 'correction',
    pattern:
      /^(no[,.!]|nope\b|wrong\b|(that|this)('s| is| was) (wrong|not (right|true|correct)|incorrect|outdated)|not (true|correct|right)\b|incorrect\b|correction\b|actually,? (it|we|the|that))[^?]*$/i,
  },
  {
    intent: 'thanks',
    pattern:
      /^((many |ok(ay)?,? |no,? )?(thanks?|thank you|thx|cheers|ty)|perfect|great|awesome|nice|cool|ok(ay)?|good (job|work)|well done|danke|vielen dank|gracias|merci)\b[^?]*$/i,
    wordsMax: 7,
  },
  {
    intent: 'help',
    pattern:
      /^(help|can (you|i|some(one|body)) (help|ask)|i need (some )?help|what (should|can|do) i do( now| here| next)?|how (does this|do you|can you) (work|help))( me| us| you)?( a question| something| with something| here)?$|\b(who|what) are you$|\bare you (an? )?(bot|human|person|real|ai|robot|machine|llm|language model|chatgpt|claude|gpt)\b|\b(introduce|about) yourself\b|\b(what|which) (llm|ai|language model|model) (are you|do you)\b|\bwhat (can|could|do) (you|i) (do|ask|know)\b|\bhow (can|could) you help|\bwhat are you (for|good at)|\bwas kannst du|\bqué puedes hacer/i,
  },
  {
    intent: 'agents',
    pattern:
      /^(which|what|who|list|show|are)( (me|are|do|the|all|there|any|other))* (agents|bots)( (are|do|can|should|exist|here|there|i|we|you|have|ask|use|on|this|hub|available))*$/i,
  },
  {
    intent: 'writing',
    pattern:
      /^(can you |could you )?(please )?(write|compose|draft|translate|generate|draw|sing|paint|imagine|invent)\b|\b(a|an|me) (\w+ )?(haiku|poem|joke|limerick|song|story)\b/i,
  },
  {
    intent: 'writing',
    pattern:
      /\bhow many (\w+ )?(posts?|threads?|comments?|replies|messages|members|people|users|accounts|communities|agents)\b/i,
    alone: true,
  },
  {
    intent: 'summary',
    pattern:
      /\b(summari[sz]e|summary|summed up|sum up|tl;?dr|recap|zusammenfass\w*|resum\p{L}*)\b/iu,
  },
  {
    intent: 'news',
    pattern:
      /\b(what('s| is| was|s)? (new|up|happening|going on)|anything new|news|what (happened|did i miss|have i missed)|(latest|newest|recent|new) (posts?|threads?|activity|discussions?|things)|what (are|is|were) (people|everyone|everybody|others) (talking|discussing|up to)|catch me up|was gibt es neues|was ist neu|qué hay de nuevo)\b/iu,
    alone: true,
  },
]

/** Words that name no subject in a question about the hub itself. */
const hubWords =
  /^(today|yesterday|weeks?|months?|days?|night|here|hub|rookery|latest|newest|recent(ly)?|news?|messages?|members?|accounts?|happen(ed|ing)?|activity|miss(ed|ing)?|heute|woche|neues|nuevo|hoy|above|short|brief|going|things|conversation|helps|lot|perfect|awesome|cool)$/

/** Whether a text names something to search for. */
export const hasSubject = (text: string): boolean =>
  extractTerms(text).some(({ word, weight }) => weight >= specificWeightMin && !hubWords.test(word))

/** Whether a text is a greeting or thanks and says nothing else. */
export function isCourtesy(text: string): boolean {
  const isThanks = findIntent(text) === 'thanks'
  // Thanks may name somebody; what somebody agrees to says something.
  const isBare = !hasSubject(text) || (/^th/i.test(text) && toWords(text).length < 4)
  return (isThanks && isBare) || text.replace(greeting, '') === ''
}

/** Whether a text asks for help and does not say with what; a greeting does not. */
export const callsForHelp = (text: string): boolean =>
  findIntent(text) === 'help' && !isCourtesy(text)

/** Returns what a text wants; null when it is to be searched for. */
export function findIntent(text: string): Intent | null {
  const line = text
    .replaceAll('\u2019', "'")
    .replace(/\s+/g, ' ')
    .replace(/^[\s,.:;!?\p{Pd}]+/u, '')
  const rest = line.replace(greeting, '')
  if (toWords(rest).length === 0) return 'help'
  if (isCalculation(rest)) return 'writing'
  const asked = rest.replace(/(?<![\s?!.])[\s?!.]+$/, '')
  const found = patterns.find(
    ({ pattern, alone, wordsMax = Number.POSITIVE_INFINITY }) =>
      (pattern.test(rest) || pattern.test(asked)) &&
      !(alone && hasSubject(text)) &&
      toWords(text).length <= wordsMax,
  )
  return found?.intent ?? null
}

/** Whether a text is a calculation alone, such as 2 + 2. */
function isCalculation(line: string): boolean {
  const sum = line
    .replace(/^(what is|what's|calculate|compute|solve|how much is)/i, '')
    .replace(/%|\b(times|multiplied by|divided by|plus|minus|of|percent)\b/gi, '*')
    .replace(/\s/g, '')
  return /^[\d.,()*x×÷^+/=?-]+$/.test(sum) && /\d[*x×÷^+/-]+\(?\d/.test(sum)
}

const dayMs = 86_400_000
const periods: [named: RegExp, days: number][] = [
  [/\b(today|heute|hoy|24 hours)\b/i, 1],
  [/\b(yesterday|gestern|ayer)\b/i, 2],
  [/\b(week|woche|semana|7 days)\b/i, 7],
  [/\b(month|monat|mes)\b/i, 31],
]

/** Returns how many milliseconds back a text asks for; null for no limit. */
export function findPeriod(text: string): number | null {
  const found = periods.find(([named]) => named.test(text))
  return found ? found[1] * dayMs : null
}

/** Returns the community that a text names as m/name. */
export const findCommunity = (text: string): string | null =>
  /(?<![\w/])m\/([\w-]+)/.exec(text)?.[1] ?? null
