import { hasTerm, specificWeightMin, type Term, toStems } from '../../text/words'
import type { Hit } from './parse-results'
import type { Question } from './parse-task'
import { type Candidate, isToAgent, listPassages, type Passage } from './sources'

/** A thread that answers a question, with the passage that does. */
export interface Finding {
  candidate: Candidate
  passage: Passage
  score: number
  /** Specific words of the question that the thread does not contain. */
  missingWords: string[]
}

/** Groups hits by post, best first, without the texts of the task. */
export function groupHits(hits: Hit[], ownIds: Set<string>): Candidate[] {
  const candidates = new Map<string, Candidate>()
  for (const hit of hits) {
    if (ownIds.has(hit.post_id) || ownIds.has(hit.id)) continue
    const known = candidates.get(hit.post_id)
    if (known) known.hits.push(hit)
    else {
      // A comment's author is not the post's, which is known once the thread is read.
      const author = hit.type === 'post' ? (hit.author ?? '') : ''
      const { post_id: postId, title, community } = hit
      candidates.set(postId, {
        postId,
        title: title ?? '',
        author,
        community: community ?? '',
        hits: [hit],
        thread: null,
      })
    }
  }
  return [...candidates.values()]
}

export const toHitText = ({ hits }: Candidate): string =>
  hits.map(({ title, snippet }) => `${title ?? ''} ${snippet ?? ''}`).join(' ')

/** Whether a post asks an agent, and none of its hits is of a person who answered. */
export function isAskedOnly(candidate: Candidate, agentName: string): boolean {
  const post = candidate.hits.find(({ type }) => type === 'post')?.snippet ?? ''
  const asks = [candidate.title, post].some(
    (text) => isToAgent(text) || text.toLowerCase().includes(`@${agentName || '@'}`),
  )
  return asks && listPassages(candidate, agentName).length === 0
}

/** Sorts posts by their rank in the index, and by how much of the question their hits cover; those that ask last. */
export function sortThreads(candidates: Candidate[], { terms }: Question, agentName: string) {
  const strengthOf = (candidate?: Candidate) => candidate?.hits[0]?.score ?? 0
  const top = strengthOf(candidates.find((each) => !isAskedOnly(each, agentName))) || 1
  const rank = (each: Candidate) =>
    cover(toStems(toHitText(each)), terms) +
    Math.min(1, strengthOf(each) / top) -
    (isAskedOnly(each, agentName) ? 9 : 0)
  return candidates.toSorted((a, b) => rank(b) - rank(a))
}

/** Whether the hits of a candidate have a specific word of a question. */
export const isRelated = (candidate: Candidate, { own }: Question): boolean =>
  cover(toStems(toHitText(candidate)), own.filter(isSpecific)) > 0

/** Returns the share of the terms' weight that a text has. */
function cover(stems: Set<string>, terms: Term[]): number {
  const sum = (list: Term[]) => list.reduce((total, { weight }) => total + weight, 0)
  return sum(terms.filter(({ stem }) => hasTerm(stems, stem))) / Math.max(0.1, sum(terms))
}

const asksDecision =
  /\b(decid\w*|decision|cho[os]\w+|agree\w*|settle\w*|final\w*|plan|pick\w*|(do|did|should|are|will|have) we|our)\b/i
const decided =
  /(?<=^|\. )(decided|decision|agreed|resolved|conclusion|outcome|booked|entschieden|beschlossen)\b/im
const decision =
  /\b(we('ll| will| have)? (go|went|take|took|use|chose|keep|decided|agreed)|it (is|stays)|ordered|signed|fixed)\b|^then\b|\bthen\.?$/im
const correction =
  /^(correction|corrected|wrong|update|edit|actually|no,)\b|\b(from now on|no longer|instead of|after all|postponed|cancelled|not any ?more|is wrong)\b/im

/** Whether a text decides or corrects something. */
export const isSettling = (text: string): boolean =>
  [decided, decision, correction].some((each) => each.test(text))

/** What an answer must contain, by how the question asks. */
const kinds: [asks: RegExp, answers: RegExp][] = [
  [
    /\b(how much|costs?|price|pay|paid|expensive|rent|fee)\b/i,
    /[$€£¥]\s?\d|\d\s?[$€£¥]|\d (usd|eur|dollars?|euros?|cents?)\b|\b\d{1,3}(,\d{3})+\b/i,
  ],
  [
    /\b(when|what (date|day|time)|until|deadline)\b/i,
    /\d:\d\d|\b\w+day\b|\b\d+ [A-Z][a-z]+|\b[A-Z][a-z]+ \d+\b|\b(tomorrow|week|month|spring|summer|autumn|winter)\b|\d(st|nd|rd|th)\b/,
  ],
  [/\bhow (many|long|far|big|fast|often)\b/i, /\d|\b(one|two|three|four|five|six|ten|twelve)\b/i],
  [/\b(why|reason)\b/i, /\b(because|so that|reason|due to|it was|caused?)\b/i],
  [/\b(repository|repo|link|url|website|address)\b/i, /https?:\/\//],
]

/** A name has a capital that begins no sentence. */
const who: (typeof kinds)[number] = [/\b(who|wer)\b/i, /[\p{L}\p{N},;] \p{Lu}\p{Ll}/u]

/** How much the title's words distinguish the passages of its thread. */
const topicWeight = 0.3
const fitMin = 0.55
/** What has changed is often said with fewer of the words. */
const fitMinOfChange = 0.45

const isSpecific = ({ weight }: Term) => weight >= specificWeightMin

/** Returns the threads that answer a question, best first, each with its best passage. */
export function rankThreads(
  candidates: Candidate[],
  question: Question,
  agentName: string,
): Finding[] {
  const found = candidates.flatMap((each) => judge(each, question, agentName) ?? [])
  const times = found.map(timeOf).sort()
  // Of two threads the later one counts more, and much more when it says that something has changed.
  const order = (each: Finding) =>
    each.score +
    ((correction.test(each.passage.text) ? 0.7 : 0.12) * times.indexOf(timeOf(each))) /
      Math.max(1, times.length - 1)
  return found.sort((a, b) => order(b) - order(a))
}

const timeOf = ({ candidate }: Finding) => candidate.thread?.post.created_at ?? ''

function judge(candidate: Candidate, question: Question, agentName: string): Finding | null {
  const { text, own } = question
  const asked = kinds.filter(([asks]) => asks.test(text))
  // An amount answers a question for a price without the word.
  const without = (terms: Term[]) =>
    terms.filter(({ word }) => !asked.some(([asks]) => asks.test(word)))
  const others = without(question.terms)
  const terms = others.length > 0 ? others : question.terms
  const passages = listPassages(candidate, agentName)
  // A long post begins with what it is about.
  const [opening, ...rest] = passages.filter(({ isComment }) => !isComment)
  const topic = rest.length > 1 ? opening?.text : ''
  const { title, author, community } = candidate
  // A name such as BenTheOwl has words.
  const names = author.replace(/(?<=\p{Ll})(?=\p{Lu})/gu, ' ')
  const head = toStems(`${title} ${author} ${names} ${community} ${topic}`)
  const weighted = terms.map(({ weight, ...term }) => ({
    ...term,
    weight: hasTerm(head, term.stem) ? weight * topicWeight : weight,
  }))
  const total = cover(new Set(), terms) + terms.reduce((sum, { weight }) => sum + weight, 0)
  const last = Math.max(1, ...passages.map(({ at }) => at))
  const decisionWeight = asksDecision.test(text) ? 0.6 : 0.2
  const isQuestion = isToAgent(candidate.thread?.post.content ?? '')
  const whole = new Set(head)
  const ranked = passages.map((passage) => {
    const stems = toStems(`${passage.text} ${passage.author}`)
    // What settles something speaks of the title's subject, and so does a post, other than a question to an agent.
    // Other comments speak of what was asked right before them.
    const settles = isSettling(passage.text)
    const isOnTopic = settles || (!passage.isComment && !isQuestion)
    const about = isOnTopic ? head : toStems(passage.context)
    const together = new Set([...stems, ...about])
    for (const stem of together) whole.add(stem)
    const near = cover(together, terms)
    const share = weighted.reduce(
      (sum, { stem, weight }) => sum + (hasTerm(stems, stem) ? weight : 0),
      0,
    )
    const isDecided = decided.test(passage.text) || correction.test(passage.text)
    const extra =
      (isDecided ? decisionWeight : settles ? 0.7 * decisionWeight : 0) +
      asked.filter(([, answers]) => answers.test(passage.text)).length * 0.6
    // Whom a comment names first is whom it answers.
    const isReply = passage.isComment && author !== '' && passage.text.startsWith(author)
    const later = isReply ? 0 : (0.1 * passage.at) / last
    const value = near + (near > 0 ? extra : 0)
    return { passage, near, value, rank: value + share / total + later }
  })
  ranked.sort((a, b) => b.rank - a.rank)
  const [best] = ranked
  if (!best) return null
  const matched = terms.filter(({ stem }) => hasTerm(whole, stem))
  const missing = own.filter(
    (term) => isSpecific(term) && terms.includes(term) && !matched.includes(term),
  )
  // A name or a time that was asked for is worth a verb: makes does not match made.
  const needed = [who, ...kinds].filter(([asks]) => asks.test(text))
  const answersOne =
    needed.length > 0 &&
    own.filter(isSpecific).length === 1 &&
    missing.length === 0 &&
    needed.every(([, answers]) => answers.test(best.passage.text))
  const isWeak =
    (matched.length < Math.min(2, terms.length) && !answersOne) ||
    (terms.some(isSpecific) && !matched.some(isSpecific))
  const fit = 0.4 * cover(whole, terms) + 0.6 * Math.max(...ranked.map(({ near }) => near))
  const isChange = correction.test(best.passage.text)
  if (isWeak || fit < (isChange ? fitMinOfChange : fitMin)) return null
  return {
    candidate,
    passage: best.passage,
    score: fit + 0.3 * best.value,
    missingWords: missing.map(({ word }) => word),
  }
}
