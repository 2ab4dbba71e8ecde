/** Questions made from an archive's posts, each with the posts that answer it. */
import type { ArchivePost } from './archive-hub'

export interface ArchiveQuestion {
  kind: string
  text: string
  right: Set<string>
}

/** Returns a seeded random generator (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
const wholeText = (post: ArchivePost) =>
  [post.title, post.content, ...post.comments.map(({ content }) => content)].join('\n')

export function createQuestionMaker(posts: ArchivePost[], random: () => number) {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const spread = new Map<string, number>()
  for (const post of posts) {
    for (const word of new Set(wordsOf(wholeText(post))))
      spread.set(word, (spread.get(word) ?? 0) + 1)
  }
  /** Returns the posts that contain the same words in a row, including the post itself. */
  const holders = (phrase: string) => {
    const wanted = ` ${wordsOf(phrase).join(' ')} `
    return new Set(
      posts
        .filter((post) => ` ${wordsOf(wholeText(post)).join(' ')} `.includes(wanted))
        .map(({ id }) => id),
    )
  }
  const frames = [
    (about: string) => `@scout what did people say about ${about}?`,
    (about: string) => `@scout who wrote about ${about}`,
    (about: string) => `Question for @scout\n\nDo we have a thread on ${about}? Please link it.`,
    (about: string) => `@scout find me the post that mentions ${about}, thanks`,
  ]
  const ask = (kind: string, about: string, right: Set<string>): ArchiveQuestion => ({
    kind,
    text: pick(frames)(about),
    right,
  })
  const phraseOf = (text: string): string | null => {
    const sentences = text
      .split(/[.!?\n。！？]+/)
      .map((sentence) => sentence.replace(/https?:\S+/g, '').trim())
      .filter((sentence) => wordsOf(sentence).length >= 5)
    if (sentences.length === 0) return null
    const words = pick(sentences).split(/\s+/)
    const length = Math.min(words.length, 5 + Math.floor(random() * 4))
    const start = Math.floor(random() * (words.length - length + 1))
    return words.slice(start, start + length).join(' ')
  }
  const makers: Record<string, (post: ArchivePost) => ArchiveQuestion | null> = {
    phrase(post) {
      const phrase = phraseOf(post.content)
      return phrase ? ask('phrase', phrase, holders(phrase)) : null
    },
    title: (post) =>
      wordsOf(post.title).length > 1 ? ask('title', post.title, holders(post.title)) : null,
    keywords(post) {
      const own = wordsOf(`${post.title} ${post.content}`).filter((word) => word.length > 3)
      const rare = [...new Set(own)].filter((word) => (spread.get(word) ?? 0) <= 2)
      if (rare.length < 4) return null
      const chosen = new Set<string>()
      while (chosen.size < 3) chosen.add(pick(rare))
      const list = [...chosen]
      const right = posts.filter((other) => {
        const words = new Set(wordsOf(wholeText(other)))
        return list.every((word) => words.has(word))
      })
      return ask(
        'keywords',
        `${list[0]}, ${list[1]} and ${list[2]}`,
        new Set(right.map(({ id }) => id)),
      )
    },
    comment(post) {
      if (post.comments.length === 0) return null
      const phrase = phraseOf(pick(post.comments).content)
      return phrase ? ask('comment', phrase, holders(phrase)) : null
    },
    first(post) {
      const sentence = post.content.split(/[.!?\n]/)[0] ?? ''
      return wordsOf(sentence).length >= 4 ? ask('first', sentence, holders(sentence)) : null
    },
  }
  const kinds = Object.values(makers)
  /** Creates a question about a random post. */
  return function make(): ArchiveQuestion {
    for (;;) {
      const question = pick(kinds)(pick(posts))
      if (question) return question
    }
  }
}
