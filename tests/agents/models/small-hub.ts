/** A few invented posts behind the two tools that the offline model uses. */

export interface Post {
  id: string
  title: string | null
  content: string | null
  author?: string
  community?: string
  created_at?: string
  author_kind?: string
  comments?: { id: string; author: string; content: string; author_kind?: string }[]
}

export const posts: Post[] = [
  {
    id: 'owl',
    title: 'Feeding the night owls',
    content: 'The barn owls get mice at dusk. Never feed them bread, it swells in the crop.',
    author: 'mira',
    community: 'birds',
    comments: [
      {
        id: 'c1',
        author: 'otto',
        content: 'Our vet prescribes calcium drops against brittle beaks.',
      },
    ],
  },
  {
    id: 'pump',
    title: 'The pump in cellar two',
    content: 'Pressure dropped to 3 bar last night. Replacing the gasket brought it back.',
    author: 'otto',
    community: 'house',
  },
]

export const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * Any word may match; more shared words come first.
 *
 * @param last matches texts that come after all others, as the hub ranks questions to agents and their answers
 */
export function hubOf(list: Post[], last = /^(?!)/) {
  return {
    call(name: string, json: string): string {
      const { query, post_id, type: only, limit } = JSON.parse(json)
      const by = (post: Post) => ({
        author: post.author ?? 'ada',
        community: post.community ?? 'general',
      })
      if (name === 'hub_get_thread') {
        const post = list.find(({ id }) => id === post_id)
        if (!post) return 'Error: There is no such post.'
        const { id, title, content, created_at, author_kind = 'human', comments = [] } = post
        return JSON.stringify({
          post: { id, title, content, author_kind, created_at, ...by(post), url: `/p/${id}` },
          comments,
          comment_count: comments.length,
        })
      }
      if (name === 'memory_remember_fact') return JSON.stringify({ id: 1 })
      if (name !== 'hub_search') {
        const shown = list.map((post) => ({
          id: post.id,
          title: post.title,
          excerpt: post.content,
          ...by(post),
          created_at: post.created_at,
        }))
        return JSON.stringify({ posts: shown })
      }
      const wanted = new Set(wordsOf(query))
      const rows = list.flatMap((post) => [
        {
          type: 'post',
          id: post.id,
          post,
          author: by(post).author,
          body: `${post.title ?? ''} ${post.content ?? ''}`,
        },
        ...(post.comments ?? []).map(({ id, author, content }) => ({
          type: 'comment',
          id,
          post,
          author,
          body: content,
        })),
      ])
      const results = rows
        .map((row) => ({
          ...row,
          score: wordsOf(row.body).filter((word) => wanted.has(word)).length,
        }))
        .filter(({ score, type }) => score > 0 && (!only || type === only))
        .sort((a, b) => +last.test(a.body) - +last.test(b.body) || b.score - a.score)
        .slice(0, limit)
        .map(({ type, id, post, author, body, score }) => ({
          type,
          id,
          post_id: post.id,
          title: post.title,
          snippet: body.slice(0, 200),
          author,
          community: by(post).community,
          score,
          url: `/p/${post.id}`,
        }))
      return JSON.stringify({ results })
    },
  }
}

export const smallHub = hubOf(posts)
