import type { Hit, ParsedThread } from './parse-results'

/** A post that may answer a question: its search hits and, once read, its thread. */
export interface Candidate {
  postId: string
  title: string
  author: string
  community: string
  hits: Hit[]
  thread: ParsedThread | null
}

/** A few sentences by one author. */
export interface Passage {
  text: string
  /** Author of the comment; null for the post itself. */
  commentAuthor: string | null
}

/** Whether a text is a question to this agent or its answer, which are not used as sources. */
export function isOwnConversation(
  agentName: string,
  author: string | null | undefined,
  text: string,
) {
  if (agentName === '') return false
  return author?.toLowerCase() === agentName || text.toLowerCase().includes(`@${agentName}`)
}

/** Returns the quotable passages of a candidate. */
export function listPassages(candidate: Candidate, agentName: string): Passage[] {
  return listTexts(candidate)
    .filter(({ text, author }) => !isOwnConversation(agentName, author, text))
    .flatMap(({ text, author, isComment }) =>
      toWindows(text).map((window) => ({ text: window, commentAuthor: isComment ? author : null })),
    )
}

interface SourceText {
  text: string
  author: string
  isComment: boolean
}

function listTexts({ title, hits, thread }: Candidate): SourceText[] {
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
    // Older comments of a long thread are missing from it, but the search may have found them.
    ...found.filter(({ isComment }) => isComment),
  ]
}

const windowSentences = 2

function toWindows(text: string): string[] {
  const sentences = splitSentences(text)
  const count = Math.max(1, sentences.length - windowSentences + 1)
  return Array.from({ length: count }, (_, at) =>
    sentences.slice(at, at + windowSentences).join(' '),
  ).filter(Boolean)
}

/** A full stop or an ellipsis (U+2026), with the marks that close after it, before space. */
const sentenceEnd = /([.!?\u2026]["'\p{Pf})*_]*)\s+/gu

/** Splits a text after sentences, after full stops of Chinese and Japanese without space, and at the end of a line. */
function splitSentences(text: string): string[] {
  return text
    .replace(sentenceEnd, '$1\n')
    .split(/(?<=[\u3002\uff01\uff1f])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}
