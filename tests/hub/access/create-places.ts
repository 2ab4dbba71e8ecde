import { canaries } from './contents'
import type { Member } from './requesters'

type Call = (
  path: string,
  options: { key: string; method?: string; body: unknown },
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
) => Promise<any>

/**
 * Creates communities that not everybody reads: `cellar` is private to olga, piet, scout and a listed member, `atrium` is for
 * members of the hub. Each text in them holds the canary of its community.
 */
export async function createPlaces(
  call: Call,
  { olga, piet, scout, listed }: Record<string, Member>,
) {
  if (!olga || !piet || !scout || !listed) throw new Error('Nobody to create communities for.')
  const create = async (name: 'cellar' | 'atrium', visibility: 'private' | 'members') => {
    const canary = canaries[name]
    // an admin sees name and description of a private community
    const about = visibility === 'private' ? name : canary
    const body = { name, visibility, display_name: about, description: about }
    await call('/communities', { key: olga.key, body })
    const post = async ({ key }: Member) => {
      const text = { community: name, title: `A title ${canary}`, content: `A text ${canary}` }
      return (await call('/posts', { key, body: text })).post.id as string
    }
    const add = (account: string) =>
      call(`/communities/${name}/members/${account}`, { key: olga.key, method: 'PUT', body: {} })
    await add(piet.name)
    await add(scout.name)
    await add(listed.name)
    const postId = await post(olga)
    const remark = { key: olga.key, body: { content: `A remark ${canary} @mem @piet` } }
    const commentId = (await call(`/posts/${postId}/comments`, remark)).comment.id as string
    await call(`/posts/${postId}/vote`, { method: 'PUT', key: piet.key, body: { value: 1 } })
    return { postId, commentId, othersPostId: await post(piet) }
  }
  return {
    cellar: await create('cellar', 'private'),
    atrium: await create('atrium', 'members'),
  }
}
