import { steering } from '../../shared/config'
import type { Review } from '../contract/review-hooks'

const verbs = {
  approved: 'approved',
  changes_requested: 'requested changes on',
  commented: 'reviewed',
} as const

/** A run reads so much of a comment that joins it. */
const charsMax = steering.charsMax
/** What is quoted in one piece; a head and a place fit beside it. */
const pieceCharsMax = charsMax - 1_000
const piecesMax = 10

/**
 * Returns the comments that a thread shows for parts of a review, in their order: one, unless the parts are longer
 * than a comment. Names that do not look like such are left out, and texts are quoted, so that nothing in them
 * mentions anybody or stands for a text of the hub.
 */
export function formatReview(parts: readonly [Review, ...Review[]]): string[] {
  const [first] = parts
  const head = parts.length === 1 || first.place === null ? first : toHead(first)
  const texts = parts.flatMap((part) => {
    const [text, ...rest] = quote(part.text)
    if (text === undefined) return []
    const place = part === head ? null : part.place
    return [place ? `${formatPlace(place)}:\n\n${text}` : text, ...rest]
  })
  const comments = [formatSubject(head) + (texts.length > 0 ? ':' : '.')]
  for (const text of texts) {
    const joined = `${comments.at(-1)}\n\n${text}`
    if (joined.length <= charsMax) comments[comments.length - 1] = joined
    else comments.push(`${formatSubject(toHead(first))}:\n\n${text}`)
  }
  return comments
}

/** A review of which nothing is known but who wrote it. */
const toHead = (part: Review): Review => ({ ...part, state: 'commented', place: null })

/** Who did what to which pull request. */
function formatSubject({ author, state, place, pull }: Review): string {
  const who = /^[\w.-]{1,60}(\[bot\])?$/.test(author) ? `**${author}**` : '**Somebody**'
  const verb = state === null ? 'commented on' : verbs[state]
  const where = place === null ? '' : `${formatPlace(place)} of `
  return `${who} ${verb} ${where}${formatPull(pull)}`
}

const formatPull = ({ repository, number }: Review['pull']): string =>
  /^[\w.-]+\/[\w.-]+$/.test(repository)
    ? `[${repository}#${number}](https://github.com/${repository}/pull/${number})`
    : `pull request ${number}`

function formatPlace({ path, line }: NonNullable<Review['place']>): string {
  const name = /^[^`\p{C}]{1,300}$/u.test(path) ? path : 'a file'
  return `\`${line === null ? name : `${name}:${line}`}\``
}

/** Returns the quoted text in pieces of whole lines, as far as a line is not longer; none of an empty text. */
function quote(text: string): string[] {
  if (text === '') return []
  const pieces: string[] = []
  const lines = text.split(/\r\n|\r|\n/).flatMap((line) => line.match(/.{1,3000}/gsu) ?? [''])
  for (const line of lines) {
    const joined = `${pieces.at(-1)}\n> ${line}`
    if (pieces.length > 0 && joined.length <= pieceCharsMax) pieces[pieces.length - 1] = joined
    else pieces.push(`> ${line}`)
  }
  return pieces.length <= piecesMax ? pieces : [...pieces.slice(0, piecesMax), '> [...]']
}
