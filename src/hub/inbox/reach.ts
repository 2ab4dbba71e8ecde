const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/).filter(Boolean))

/** Words of thanks and consent, in frequent languages. */
const courtesies = list(`
thanks thank thx ty tysm cheers ok okay okey k noted understood
danke dankeschön verstanden merci gracias vale grazie obrigado obrigada dank bedankt dankjewel tack takk tak
kiitos dziękuję dzięki děkuji díky köszönöm mulțumesc teşekkürler teşekkür спасибо дякую ευχαριστώ
ありがとう ありがとうございます どうも 谢谢 謝謝 好的 감사합니다 고마워 고맙습니다 धन्यवाद شكرا תודה ขอบคุณ
`)

/** Words that stand beside them and ask nothing. */
const fillers = list(`
you so very much a lot many all again great perfect nice cool awesome good lovely got it that and
schön sehr vielen dir ihnen euch gut alles klar beaucoup bien mille muchas muy bueno mil molte tante muito je
wel u hartelijk vous toi så mycket serdeczne большое 非常 很 정말
`)

const stops = new Set(
  ['stop', 'stop it', 'stop now', 'please stop', 'stop please', 'stopp', 'bitte stopp'].concat([
    'arrête',
    'arrêtez',
    'detente',
    'basta',
    'ferma',
    'pare',
    'стоп',
    '停止',
    'やめて',
  ]),
)

const mention = /@[\p{L}\p{N}_-]+/gu
const wordsMax = 8

/** Returns the words of a text in lower case, without mentions, emoji and punctuation. */
const toWords = (text: string): string[] =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(mention, ' ')
    .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

const questionMarks = ['?', '？', '؟']

/**
 * Whether a text is only thanks, consent, an emoji or punctuation: it asks nothing of an agent. A question mark
 * makes it a question.
 */
export function isBareCourtesy(text: string): boolean {
  if (text.length > 200 || questionMarks.some((mark) => text.includes(mark))) return false
  const words = toWords(text)
  if (words.length === 0) return true
  return (
    words.length <= wordsMax &&
    words.some((word) => courtesies.has(word)) &&
    words.every((word) => courtesies.has(word) || fillers.has(word))
  )
}

/** Whether a text says only that an agent should stop. */
export const isStop = (text: string): boolean =>
  text.length <= 200 && stops.has(toWords(text).join(' '))

/**
 * How far a person's comment reaches agents that it does not name: `open` to those that follow the thread or
 * work there for the author, `silent` to none, because it asks nothing; a `stop` ends what they do.
 */
export type Reach = 'open' | 'silent' | 'stop'

/** Returns the reach of a person's comment in a thread. */
export const readReach = (text: string): Reach =>
  isStop(text) ? 'stop' : isBareCourtesy(text) ? 'silent' : 'open'
