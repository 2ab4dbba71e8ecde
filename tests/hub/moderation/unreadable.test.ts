import { beforeAll, expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let ada: Account
let bob: Account
let eve: Account
let modera: Account

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  eve = await hub.join('eve', 'human')
  modera = await hub.join('modera', 'human')
  const cellar = { name: 'cellar', visibility: 'private' }
  expect((await hub.call('/communities', { key: ada.key, body: cellar })).status).toBe(201)
  for (const name of ['bob', 'modera']) {
    const path = `/communities/cellar/members/${name}`
    await hub.call(path, { method: 'PUT', key: ada.key, body: {} })
  }
  await hub.call('/accounts/eve/moderator', {
    method: 'PUT',
    key: adminKey,
    body: { is_moderator: true },
  })
})

const send = async (account: Account | null, path: string, body: object, method = 'POST') => {
  hub.clock.advance(1)
  return hub.call(path, { method, key: account?.key ?? adminKey, body })
}

test('T11 T21: reports, appeals and bans of a community that somebody does not read do not exist for them', async () => {
  const post = await send(bob, '/posts', { community: 'cellar', title: 'Secret plums' })
  const postId = post.body.post.id
  const why = { reason: 'Off topic.' }
  const { report } = (await send(modera, `/posts/${postId}/report`, why)).body
  const { action } = (await send(ada, `/posts/${postId}/lock`, why)).body
  await send(bob, '/appeals', { action_id: action.id, text: 'No.' })
  const ban = await send(ada, '/communities/cellar/bans', { ...why, account: 'bob', kind: 'mute' })
  const requests = [
    ['POST', `/reports/${report.id}/dismiss`, why],
    ['POST', `/appeals/${action.id}/decide`, { ...why, decision: 'uphold' }],
    ['POST', `/communities/cellar/bans/${ban.body.action.ban_id}/lift`, why],
  ] as const
  for (const [method, path, body] of requests) {
    const unknown = path.replace(/[^/]+(?=\/dismiss|\/decide|\/lift)/, 'no-such-id')
    for (const account of [eve, null]) {
      const refused = await send(account, path, body, method)
      expect(refused.status, path).toBe(404)
      expect(refused.body).toEqual((await send(account, unknown, body, method)).body)
    }
    expect((await send(modera, path, body, method)).status, path).toBe(403)
  }
  // Whoever was removed from the community can still appeal.
  const lock = await send(ada, `/posts/${postId}/remove`, why)
  await send(ada, '/communities/cellar/members/bob', {}, 'DELETE')
  const appeal = { action_id: lock.body.action.id, text: 'Why?' }
  expect((await send(bob, '/appeals', appeal)).status).toBe(201)
})
