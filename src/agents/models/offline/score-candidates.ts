import { hasTerm, specificWeightMin, type Term, toStems, toWords } from '../../text/words'
import type { Hit } from './parse-results'
import type { Question } from './parse-task'
import { type Candidate, isOwnConversation, listPassages, type Passage } from './passages'

export interface ScoredCandidate {
  candidate: Candidate
  /** Share of the question that is covered, from 0; a repeated phrase can raise it above 1. */
  score: number
  passage: Passage
  /** Specific words of the question that the thread does not contain. */
  missingWords: string[]
  /** The thread contains every search term of the question. */
  isComplete: boolean
}

/**
 * Minimum score of an answer, found by experiment (tests/node/offline-archive.test.ts): questions
 * made from a post score 0.9 and more, paraphrases 0.55 and more, unrelated questions below 0.5. A
 * short question with one of its three words missing ("patches for jeans") scores 0.7 and is
 * unrelated.
 */
const scoreMin = 0.55
const scoreMinShort = 0.8
/** For a complete match of three words or more, however far apart. */
const scoreMinComplete = 0.4
const shortTermsMax = 3

/** Groups hits by post, best first, without the requesting thread and the agent's own conversations. */
export function groupHits(hits: Hit[], ownIds: Set<string>, agentName: string): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const hit of hits) {
    if (ownIds.has(hit.post_id) || ownIds.has(hit.id)) continue
    if (isOwnConversation(agentName, hit.author, `${hit.title ?? ''} ${hit.snippet ?? ''}`))
      continue
    const known = candidates.get(hit.post_id)
    if (known) known.hits.push(hit)
    else candidates.set(hit.post_id, toCandidate(hit))
  }
  return [...candidates.values()]
}

const toCandidate = (hit: Hit): Candidate => ({
  postId: hit.post_id,
  title: hit.title ?? '',
  // A comment's author is not the post's, which is known once the thread is read.
  author: hit.type === 'post' ? (hit.author ?? '') : '',
  community: hit.community ?? '',
  hits: [hit],
  thread: null,
})

/**
 * Returns the posts worth reading: those that the index, which knows the frequency of each word,
 * ranks highest and whose hits cover most of the question. Repeats of a text come last.
 */
export function rankCandidates(
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
      cover(toStems(text.join(' ')), terms) + phraseBonus(words, terms, text.join(' '))
    // Questions to agents come last, whatever their score.
    const strength = top > 0 ? Math.min(1, strengthOf(candidate) / top) : 0
    return { candidate, score: covered + strength - repeated }
  })
  ranked.sort((a, b) => b.score - a.score)
  return ranked.slice(0, max).map(({ candidate }) => candidate)
}

const strengthOf = (candidate: Candidate | undefined) => candidate?.hits[0]?.score ?? 0

/** Scores candidates and returns those that answer the question, best first. */
export function scoreCandidates(
  candidates: Candidate[],
  question: Question,
  agentName: string,
): ScoredCandidate[] {
  const isShort = countSpecific(question.terms) <= shortTermsMax
  const hasSeveral = question.terms.length >= shortTermsMax
  const toScoreMin = ({ missingWords: missing, isComplete }: ScoredCandidate) => {
    if (isComplete && hasSeveral) return scoreMinComplete
    return isShort && missing.length > 0 ? scoreMinShort : scoreMin
  }
  return candidates
    .flatMap((candidate) => scoreCandidate(candidate, question, agentName) ?? [])
    .filter((judged) => judged.score >= toScoreMin(judged))
    .sort((a, b) => b.score - a.score)
}

const countSpecific = (terms: Term[]) =>
  terms.filter(({ weight }) => weight >= specificWeightMin).length

/**
 * Scores a candidate. The best passage counts 0.6 and the whole thread 0.4, because words close
 * together mean more than words scattered over a long thread.
 */
function scoreCandidate(
  candidate: Candidate,
  { terms, words }: Question,
  agentName: string,
): ScoredCandidate | null {
  const { title, author, community } = candidate
  const head = toStems(`${title} ${author} ${community}`)
  const whole = new Set(head)
  let best: { passage: Passage; score: number } | null = null
  for (const passage of listPassages(candidate, agentName)) {
    const stems = toStems(`${passage.text} ${passage.commentAuthor ?? ''}`)
    for (const stem of stems) whole.add(stem)
    // A post's passages include its title; a comment's passages do not.
    const together = passage.commentAuthor === null ? new Set([...stems, ...head]) : stems
    const score =
      Math.min(1, cover(together, terms) + 0.1 * cover(stems, terms)) +
      phraseBonus(words, terms, `${passage.text}`)
    if (!best || score > best.score) best = { passage, score }
  }
  if (!best || isTooWeak(whole, terms)) return null
  const titleBonus = phraseBonus(words, terms, title)
  const missing = terms.filter(
    ({ stem, weight }) => weight >= specificWeightMin && !hasTerm(whole, stem),
  )
  const covered = cover(whole, terms)
  return {
    candidate,
    isComplete: covered === 1,
    score: 0.4 * covered + 0.6 * best.score + titleBonus,
    passage: best.passage,
    missingWords: missing.map(({ word }) => word),
  }
}

/** Returns the share of the terms' weight that a text covers. */
function cover(stems: Set<string>, terms: Term[]): number {
  let covered = 0
  let whole = 0
  for (const { stem, weight } of terms) {
    whole += weight
    if (hasTerm(stems, stem)) covered += weight
  }
  return whole === 0 ? 0 : covered / whole
}

/** Whether a match is too weak to answer: one word of several, or common words only. */
function isTooWeak(stems: Set<string>, terms: Term[]): boolean {
  const matched = terms.filter(({ stem }) => hasTerm(stems, stem))
  if (matched.length < Math.min(2, terms.length)) return true
  return countSpecific(terms) > 0 && countSpecific(matched) === 0
}

const phraseWordsMin = 4

/** Returns a bonus for a text that repeats several words of the question in a row, stop words included. */
function phraseBonus(words: string[], terms: Term[], text: string): number {
  const subjects = new Set(terms.map(({ word }) => word))
  const longest = longestRun(words, toWords(text), subjects)
  return longest < phraseWordsMin ? 0 : Math.min(0.4, 0.08 * (longest - phraseWordsMin + 1))
}

/** Returns the longest common run of words that contains at least one search term. */
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
