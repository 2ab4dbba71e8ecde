import type { ActivationId, CommentId, PostId } from '../../src/shared/ids'
import { adminKey } from '../hub/create-test-hub'
import { createOffice, usageOf } from '../hub/runs/create-office'
import {
  answered,
  ended,
  loaded,
  requested,
  returned,
  toStoredLog,
  woken,
} from '../support/run-log'

export const canary = 'quetzal-2929'

/** People, agents and four runs that olga asked for, each at another place: public, private, message, by hand. */
export async function createRunScene() {
  const office = createOffice()
  const { hub, run } = office
  const keys: Record<string, string | null> = { stranger: null, rootKey: adminKey }
  const people: Record<string, string> = {}
  const runs: Record<string, ActivationId> = {}
  const call = (who: string, path: string, method = 'GET', body?: object) => {
    const key = keys[who] ?? null
    return hub.call(path, { key, method, ...(body ? { body } : {}) })
  }
  for (const name of ['olga', 'piet', 'bob', 'dora', 'root', 'otto']) {
    const { id, key } = await hub.join(name, 'human')
    Object.assign(keys, { [name]: key })
    Object.assign(people, { [name]: id })
  }
  const scout = await office.createAgent('scout')
  keys.scout = scout.key
  keys.wren = (await office.createAgent('wren')).key
  await run(`UPDATE accounts SET role = 'admin' WHERE name IN ('root', 'otto')`)
  await run(
    `INSERT INTO admin_openings (id, account_id, owner_id, reason, created_at, expires_at)
     VALUES ('o', ?, ?, 'A complaint', 0, 9000000000000000)`,
    people.otto,
    people.olga,
  )
  await run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    scout.id,
    people.dora,
  )
  await call('olga', '/communities', 'POST', { name: 'cellar', visibility: 'private' })
  for (const name of ['scout', 'piet']) {
    await call('olga', `/communities/cellar/members/${name}`, 'PUT', { role: 'member' })
  }
  const play = async (name: string, microusd: number, postId?: PostId) => {
    const { activationId } = await office.start(scout.id)
    const reply = postId && { id: office.newId<CommentId>(), postId, parentId: null }
    await office.commit(scout.id, activationId, {
      usage: [usageOf(microusd, 3)],
      trace: toStoredLog([
        woken(activationId),
        loaded({ prompt: [] }),
        answered({ calls: [requested('c1', 'hub_search'), requested('c2', 'hub_create_post')] }),
        returned('c2', { name: 'hub_create_post', text: 'Error: Denied', isError: true }),
        returned('c1', { name: 'hub_search', arguments: '{"q":1}', text: '{"hits":[1]}' }),
        answered({ step: 2, startedAt: 1_100, text: 'Because.' }),
        ended(),
      ]),
      ...(reply ? { reply: { ...reply, content: 'Because.' } } : {}),
    })
    runs[name] = activationId
    hub.clock.advance(60_000)
  }
  const post = async (community: string, title: string): Promise<PostId> => {
    const sent = { community, title, content: '@scout why?' }
    return (await call('olga', '/posts', 'POST', sent)).body.post.id
  }
  await play('public', 10, await post('general', '=Plums, "ripe"'))
  await play('cellar', 20, await post('cellar', `Keys ${canary}`))
  await call('olga', '/conversations', 'POST', { to: 'scout', content: canary })
  await play('dm', 30)
  await run(
    `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task, task)
     VALUES (?, ?, 'task', ?, ?, 1, 1, 'manual')`,
    office.newId(),
    scout.id,
    people.olga,
    canary,
  )
  await play('manual', 40)
  return { office, hub, run, keys, people, runs, call }
}
