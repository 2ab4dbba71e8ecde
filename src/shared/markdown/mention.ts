import type { MarkdownIt, StateCore, StateInline, Token } from 'markdown-it'

/** Stands for an @ that was escaped, which begins no mention: no text contains U+0000 itself. */
const escapedAt = '\0'

/**
 * What makes a name after an @ part of a longer word: letters of alphabets with capitals, in which a name could
 * go on or hide, digits, and the underscore. Letters of other scripts do not: `请@scout总结`, `@scout님`.
 */
const word = '\\p{Lu}\\p{Ll}\\p{Lt}\\p{Script=Latin}\\p{Nd}_'

/**
 * Matches `@name`, unless it is part of a word, an e-mail address or a path (`me@host`, `a/@name`,
 * `@scope/package`), or the beginning of a longer name: `@renée`, `@scout.test`, `@scout:matrix.test`. Two
 * hyphens are a dash and end a name.
 */
const mention = new RegExp(
  `(?<![${word}]\\p{M}*|[@${escapedAt}/\\\\]:?)@([A-Za-z0-9_](?:[A-Za-z0-9_]|-(?!-)){1,31})` +
    `(?![${word}\\p{M}@${escapedAt}/\\\\]|-(?!-)|[.][${word}]|:[A-Za-z0-9-]+[.][A-Za-z0-9])`,
  'uy',
)

/** Matches the @ of an e-mail address and what follows, in the form of GFM. */
const address =
  /(?<=(?<![@/])(?<local>(?<![\w.+-])[\w.+-]+))@(?:[\w-]+\.)+[\w-]*[A-Za-z0-9](?![\w-])/uy

/** A name after an @, or an e-mail address, in a text. */
interface Found {
  kind: 'mention' | 'address'
  start: number
  end: number
}

/** Returns the mentions and e-mail addresses of a text without markup, in order of appearance. */
export function findNames(text: string): Found[] {
  const found: Found[] = []
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    address.lastIndex = at
    mention.lastIndex = at
    const mail = address.exec(text)
    if (mail) {
      const { length } = mail.groups?.local ?? ''
      found.push({ kind: 'address', start: at - length, end: address.lastIndex })
    } else if (mention.test(text)) {
      found.push({ kind: 'mention', start: at, end: mention.lastIndex })
    }
  }
  return found
}

/** Different names that count as mentions of one text. */
const namesMax = 100

/** A name with its @, up to underscores at its end, which may end an emphasis. */
const nameWithoutEnd = /@[A-Za-z0-9_][A-Za-z0-9_-]*[A-Za-z0-9-]/y

/**
 * Makes a parser find mentions and e-mail addresses: in the text as it is shown, with escapes and emphasis resolved, but
 * not in code, links and quotes. The names are collected in `env.names`, in lower case.
 */
export function useNames({ inline, core }: MarkdownIt): void {
  inline.ruler.before('emphasis', 'name', readName)
  core.ruler.at('text_join', findInProse)
}

/** Reads a name as text, so that an underscore beside a hyphen in it is no emphasis. */
function readName(state: StateInline, silent: boolean): boolean {
  if (state.src.charCodeAt(state.pos) !== 64) return false
  nameWithoutEnd.lastIndex = state.pos
  const [name] = nameWithoutEnd.exec(state.src) ?? []
  if (name === undefined) return false
  if (!silent) state.pending += name
  state.pos += name.length
  return true
}

function findInProse(state: StateCore): void {
  const names = new Set<string>()
  state.env.names = names
  let quotes = 0
  for (const token of state.tokens) {
    if (token.type === 'blockquote_open') quotes++
    else if (token.type === 'blockquote_close') quotes--
    else if (token.type === 'inline') {
      const prose = splitProse(state, joinText(token.children ?? []), quotes === 0 ? names : null)
      token.children = [...prose]
    }
  }
}

/** Returns the tokens with one token for texts, escaped characters and entities that follow each other. */
function joinText(tokens: Token[]): Token[] {
  const joined: Token[] = []
  for (const token of tokens) {
    if (token.type === 'text_special') {
      token.type = 'text'
      if (token.content === '@') token.content = escapedAt
    }
    const last = joined.at(-1)
    if (token.type === 'text' && last?.type === 'text') last.content += token.content
    else joined.push(token)
  }
  return joined
}

const isProse = ({ type, tag }: Token): boolean =>
  type === 'text' || tag === 'em' || tag === 'strong' || tag === 'del'

/**
 * Yields the tokens with those of mentions and addresses between them. What stands beside a name counts as it is
 * shown: emphasis is nothing, and every other element ends a word.
 *
 * @param names of the mentions so far; null where a name is no mention
 */
function* splitProse(
  state: StateCore,
  tokens: Token[],
  names: Set<string> | null,
): Generator<Token> {
  let run: Token[] = []
  let isInLink = false
  for (const token of tokens) {
    if (isProse(token) && !isInLink) run.push(token)
    else {
      yield* splitRun(state, run, names)
      run = []
      if (token.tag === 'a') isInLink = token.nesting === 1
      token.content = showAt(token.content)
      yield token
    }
  }
  yield* splitRun(state, run, names)
}

const showAt = (text: string): string => text.replaceAll(escapedAt, '@')

function* splitRun(state: StateCore, run: Token[], names: Set<string> | null): Generator<Token> {
  const text = run.map(({ content }) => content).join('')
  const found = findNames(text)
  let nth = 0
  let start = 0
  for (const token of run) {
    const end = start + token.content.length
    let at = start
    for (let next = found[nth]; next && next.start < end; next = found[++nth]) {
      // A name that is emphasized in part is none.
      if (next.start < at || next.end > end) continue
      yield toText(state, text.slice(at, next.start))
      yield* toTokens(state, next.kind, text.slice(next.start, next.end), names)
      at = next.end
    }
    token.content = showAt(text.slice(at, end))
    yield token
    start = end
  }
}

function* toTokens(
  state: StateCore,
  kind: 'mention' | 'address',
  shown: string,
  names: Set<string> | null,
): Generator<Token> {
  if (kind === 'address') {
    const open = new state.Token('link_open', 'a', 1)
    open.attrs = [['href', `mailto:${shown}`]]
    yield open
    yield toText(state, shown)
    yield new state.Token('link_close', 'a', -1)
    return
  }
  const name = shown.slice(1).toLowerCase()
  const isNew = names?.has(name) === false && names.size < namesMax
  if (isNew) names?.add(name)
  const token = toText(state, shown)
  if (isNew || (names?.has(name) && !state.env.isPlain)) token.type = 'mention'
  yield token
}

function toText({ Token }: StateCore, content: string): Token {
  const token = new Token('text', '', 0)
  token.content = showAt(content)
  return token
}
