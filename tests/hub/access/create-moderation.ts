import { env } from 'cloudflare:workers'
import type { Member } from './requesters'

interface Parts {
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  call(path: string, options: { key: string; body: unknown }): Promise<any>
  admin(path: string, body: unknown, method: string): Promise<unknown>
  join(name: string): Promise<Member>
  newPost(author: Member): Promise<string>
  newPerson(): Promise<Member>
  olga: Member
}

/** Returns what creates reports, removals, appeals, pins and bans for the tables' rows. */
export async function createModeration({ admin, call, join, newPost, newPerson, olga }: Parts) {
  // An account that acts as moderator, so that the columns can decide its appeals.
  const acting = await join('acting')
  await admin('/accounts/acting/moderator', { is_moderator: true }, 'PUT')
  const act = (path: string, body: Record<string, string> = {}) =>
    call(path, { key: acting.key, body: { reason: 'Off topic', ...body } })
  /** A post by olga that a moderator removed. */
  const newRemoval = async () => {
    const id = await newPost(olga)
    const { action } = await act(`/posts/${id}/remove`)
    return { postId: id, actionId: action.id as string }
  }
  /** A thread in which a limit kept an agent from being woken. */
  const newStop = async () => {
    const id = await newPost(olga)
    await env.DB.prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, created_at, refusal, requesters)
       SELECT 'stop' || ?1, w.id, 'mention', ?1, s.id, p.created_at, 'reply_limit_post', json_array(p.author_id) FROM posts p, accounts w, accounts s
       WHERE p.id = ?1 AND w.name = 'wren' AND s.name = 'scout'`,
    )
      .bind(id)
      .run()
    return id
  }
  const newAppeal = async () => {
    const { actionId: action_id } = await newRemoval()
    await call('/appeals', { key: olga.key, body: { action_id, text: 'It is true.' } })
    return action_id
  }
  const newReport = async () => {
    const id = await newPost(olga)
    const body = { reason: 'Off topic' }
    const answer = await call(`/posts/${id}/report`, { key: (await newPerson()).key, body })
    return answer.report.id as string
  }
  /** A pinned post; all others of the hub are unpinned. */
  const newPinned = async () => {
    await env.DB.prepare('UPDATE posts SET pinned_at = NULL').run()
    const id = await newPost(olga)
    await act(`/posts/${id}/pin`)
    return id
  }
  const newCommunityBan = async () => {
    const { name } = await newPerson()
    const { action } = await act('/communities/general/bans', { account: name, kind: 'mute' })
    return action.ban_id as string
  }
  /** A ban of the whole hub of a new account, which appealed it. */
  const newHubBan = async () => {
    const { name, key } = await newPerson()
    const { ban } = (await admin(
      `/accounts/${name}/bans`,
      { kind: 'ban', reason: 'Spam' },
      'POST',
    )) as {
      ban: { id: string }
    }
    await call(`/bans/${ban.id}/appeal`, { key, body: { text: 'It is not true.' } })
    const sql = 'UPDATE bans SET created_by = ? WHERE id = ?'
    await env.DB.prepare(sql).bind(acting.id, ban.id).run()
    return ban
  }
  /** Ends that those moderate who created a community for a row. */
  const leaveCommunities = async () => {
    const sql = `DELETE FROM community_members WHERE role = 'moderator' AND account_id IN
      (SELECT id FROM accounts WHERE name IN ('mem', 'exte', 'otto', 'lis'))`
    await env.DB.prepare(sql).run()
  }
  return {
    leaveCommunities,
    acting,
    newRemoval,
    newAppeal,
    newReport,
    newPinned,
    newCommunityBan,
    newHubBan,
    newStop,
  }
}
