import { type Candidate, isAgentTalk, type Passage, passagesOf } from './passages'
import type { Hit } from './read-results'
import type { Question } from './read-task'
import { hasTerm, stemsOf, type Term, telling, wordsOf } from './words'

export interface Judged {
  candidate: Candidate
  /** Share of the question that is covered, from 0; a phrase known again raises it over 1. */
  score: number
  passage: Passage
  /** Telling words of the question that the whole thread does not have. */
  missing: string[]
  /** It has every word of the question that is more than grammar. */
  isComplete: boolean
}

/**
 * From here on a candidate answers. Found by experiment (tests/node/offline-archive.test.ts):
 * questions made from a post reach 0.9 and more, the same asked in other words 0.55 and more,
 * questions about something else stay below 0.5. A short question with one of its three words
 * missing ("patches for jeans") comes to 0.7 and is about something else.
 */
const scoreMin = 0.55
const scoreMinShort = 0.8
/** Three words and more that are all there, however far apart. */
const scoreMinComplete = 0.4
const shortTermsMax = 3

/** Hits by post, best first, without the asking thread and what the agent said itself. */
export function groupHits(hits: Hit[], ownIds: Set<string>, agentName: string): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const hit of hits) {
    if (ownIds.has(hit.post_id) || ownIds.has(hit.id)) continue
    if (isAgentTalk(agentName, hit.author, `${hit.title ?? ''} ${hit.snippet ?? ''}`)) continue
    const known = candidates.get(hit.post_id)
    if (known) known.hits.push(hit)
    else candidates.set(hit.post_id, toCandidate(hit))
  }
  return [...candidates.values()]
}

const toCandidate = (hit: Hit): Candidate => ({
  postId: hit.post_id,
  title: hit.title ?? '',
  // A comment's author is not the post's; the thread tells that one.
  author: hit.type === 'post' ? (hit.author ?? '') : '',
  community: hit.community ?? '',
  hits: [hit],
  thread: null,
})

/**
 * The posts worth reading: those that the index, which knows how rare each word is, ranks highest
 * and whose hits show most of the question. Repeats of a text last.
 */
export function chooseCandidates(
  candidates: Candidate[],
  { terms, words }: Question,
  max: number,
): Candidate[] {
  const seen = new Set<string>()
  const top = strengthOf(candidates[0])
  const ranked = candidates.map((candidate) => {
    const text = candidate.hits.map(({ title, snippet }) => `${title ?? ''} ${snippet ?? ''}`)
    const shown = candidate.hits[0]?.snippet ?? ''
    const repeated = seen.has(shown) ? 1 : 0
    seen.add(shown)
    const covered =
      cover(stemsOf(text.join(' ')), terms) + phraseBonus(words, terms, text.join(' '))
    // Questions to agents come last, whatever their score.
    const strength = top > 0 ? Math.min(1, strengthOf(candidate) / top) : 0
    return { candidate, score: covered + strength - repeated }
  })
  ranked.sort((a, b) => b.score - a.score)
  return ranked.slice(0, max).map(({ candidate }) => candidate)
}

const strengthOf = (candidate: Candidate | undefined) => candidate?.hits[0]?.score ?? 0

/** The candidates that answer, best first. */
export function judge(candidates: Candidate[], question: Question, agentName: string): Judged[] {
  const isShort = countTelling(question.terms) <= shortTermsMax
  const hasSeveral = question.terms.length >= shortTermsMax
  const needed = ({ missing, isComplete }: Judged) => {
    if (isComplete && hasSeveral) return scoreMinComplete
    return isShort && missing.length > 0 ? scoreMinShort : scoreMin
  }
  return candidates
    .flatMap((candidate) => judgeCandidate(candidate, question, agentName) ?? [])
    .filter((judged) => judged.score >= needed(judged))
    .sort((a, b) => b.score - a.score)
}

const countTelling = (terms: Term[]) => terms.filter(({ weight }) => weight >= telling).length

/**
 * Words that stand together mean more than words scattered over a long thread: the best passage
 * counts 0.6, the whole thread 0.4.
 */
function judgeCandidate(
  candidate: Candidate,
  { terms, words }: Question,
  agentName: string,
): Judged | null {
  const { title, author, community } = candidate
  const head = stemsOf(`${title} ${author} ${community}`)
  const whole = new Set(head)
  let best: { passage: Passage; score: number } | null = null
  for (const passage of passagesOf(candidate, agentName)) {
    const stems = stemsOf(`${passage.text} ${passage.commentBy ?? ''}`)
    for (const stem of stems) whole.add(stem)
    // A post's title belongs to its own words; a comment stands for itself.
    const together = passage.commentBy === null ? new Set([...stems, ...head]) : stems
    const score =
      Math.min(1, cover(together, terms) + 0.1 * cover(stems, terms)) +
      phraseBonus(words, terms, `${passage.text}`)
    if (!best || score > best.score) best = { passage, score }
  }
  if (!best || isThin(whole, terms)) return null
  const titleBonus = phraseBonus(words, terms, title)
  const missing = terms.filter(({ stem, weight }) => weight >= telling && !hasTerm(whole, stem))
  const covered = cover(whole, terms)
  return {
    candidate,
    isComplete: covered === 1,
    score: 0.4 * covered + 0.6 * best.score + titleBonus,
    passage: best.passage,
    missing: missing.map(({ word }) => word),
  }
}

/** Share of the terms' weight that a text covers. */
function cover(stems: Set<string>, terms: Term[]): number {
  let covered = 0
  let whole = 0
  for (const { stem, weight } of terms) {
    whole += weight
    if (hasTerm(stems, stem)) covered += weight
  }
  return whole === 0 ? 0 : covered / whole
}

/** One word of several, or only words that fit anywhere, is no answer. */
function isThin(stems: Set<string>, terms: Term[]): boolean {
  const matched = terms.filter(({ stem }) => hasTerm(stems, stem))
  if (matched.length < Math.min(2, terms.length)) return true
  return countTelling(terms) > 0 && countTelling(matched) === 0
}

const phraseWordsMin = 4

/** A text that has several words of the question in a row, small ones included, is quoted by it. */
function phraseBonus(words: string[], terms: Term[], text: string): number {
  const subjects = new Set(terms.map(({ word }) => word))
  const longest = longestRun(words, wordsOf(text), subjects)
  return longest < phraseWordsMin ? 0 : Math.min(0.4, 0.08 * (longest - phraseWordsMin + 1))
}

/** The most words in a row that both have, at least one of them a subject. */
function longestRun(wanted: string[], found: string[], subjects: Set<string>): number {
  let longest = 0
  // Runs that end at the previous word of `found`, by their last position in `wanted`.
  let ending = new Map<number, { length: number; hasSubject: boolean }>()
  for (const word of found) {
    const next: typeof ending = new Map()
    wanted.forEach((candidate, at) => {
      if (candidate !== word) return
      const before = ending.get(at - 1)
      const hasSubject = subjects.has(word) || (before?.hasSubject ?? false)
      const length = (before?.length ?? 0) + 1
      next.set(at, { length, hasSubject })
      if (hasSubject && length > longest) longest = length
    })
    ending = next
  }
  return longest
}
