import { expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office

test('C5 T1: a preview promises a moderator the tools of a line for moderators, and nobody else', async () => {
  await office.hubApi.sweep(hub.clock.now())
  const [gil, mira] = [await hub.join('gil', 'human'), await hub.join('mira', 'human')]
  await office.createAgent('scout')
  await office.run(`UPDATE agents SET grants = '["*"]'`)
  await hub.call('/communities', { key: adminKey, body: { name: 'garden' } })
  await hub.call('/communities/garden/members/gil', {
    method: 'PUT',
    key: adminKey,
    body: { role: 'moderator' },
  })
  const allowed = ['hub:read', 'hub:write for moderators of m/garden']
  const policy = { method: 'PUT' as const, key: adminKey, body: { allowed } }
  expect((await hub.call('/agents/scout/grants', policy)).status).toBe(200)
  const tools = async (key: string): Promise<string[]> => {
    const body = { community: 'general', content: '@scout hi' }
    return (await hub.call('/posts/preview', { key, body })).body.agents[0].tools
  }
  expect(await tools(mira.key)).not.toContain('hub_create_post')
  expect(await tools(gil.key)).toContain('hub_create_post')
})
