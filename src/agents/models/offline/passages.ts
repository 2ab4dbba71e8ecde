import type { Hit, ReadThread } from './read-results'

/** A post that may answer: what the search showed of it and, once it was read, its thread. */
export interface Candidate {
  postId: string
  title: string
  author: string
  community: string
  hits: Hit[]
  thread: ReadThread | null
}

/** A few sentences by one author. */
export interface Passage {
  text: string
  /** Null: the post's own words. */
  commentBy: string | null
}

/** Earlier questions to this agent, and its answers, are no source. */
export function isAgentTalk(agentName: string, author: string | null | undefined, text: string) {
  if (agentName === '') return false
  return author?.toLowerCase() === agentName || text.toLowerCase().includes(`@${agentName}`)
}

/** Everything of a candidate that may be quoted. */
export function passagesOf(candidate: Candidate, agentName: string): Passage[] {
  return spokenIn(candidate)
    .filter(({ text, author }) => !isAgentTalk(agentName, author, text))
    .flatMap(({ text, author, isComment }) =>
      windowsOf(text).map((window) => ({ text: window, commentBy: isComment ? author : null })),
    )
}

interface Spoken {
  text: string
  author: string
  isComment: boolean
}

function spokenIn({ title, hits, thread }: Candidate): Spoken[] {
  const found = hits.map(({ type, snippet, author }) => ({
    text: snippet ?? '',
    author: author ?? '',
    isComment: type === 'comment',
  }))
  if (!thread) return found
  const { post, comments } = thread
  return [
    { text: post.content?.trim() || title, author: post.author ?? '', isComment: false },
    ...comments.map(({ author, content }) => ({
      text: content ?? '',
      author: author ?? '',
      isComment: true,
    })),
    // A long thread's older comments are not in what was read, but the search may have found them.
    ...found.filter(({ isComment }) => isComment),
  ]
}

const windowSentences = 2

function windowsOf(text: string): string[] {
  const sentences = splitSentences(text)
  const count = Math.max(1, sentences.length - windowSentences + 1)
  return Array.from({ length: count }, (_, at) =>
    sentences.slice(at, at + windowSentences).join(' '),
  ).filter(Boolean)
}

const sentenceEnd = /(?<=[.!?…]["'”’)*_]*)\s+|(?<=[。！？])|\n+/u

function splitSentences(text: string): string[] {
  return text
    .split(sentenceEnd)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}
