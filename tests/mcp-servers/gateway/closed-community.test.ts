import { expect, test } from 'vitest'
import { decidePrivacy, type GrantPolicy } from '../../../src/hub/contract/hub'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { workspaceServer } from '../../../src/mcp-servers/servers/workspace'
import type { CommunityId } from '../../../src/shared/ids'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const closed = { id: 'cellar-id' as CommunityId, name: 'cellar' }
const inCellar = {
  ...scoutAtWork,
  privacy: decidePrivacy({ task: 'mention', requesterIds: [], closed }),
}

function call(tool: string, args: object) {
  const policy: Partial<GrantPolicy> = { trusted: ['*'] }
  const gateway = createGateway({
    ...testFileStores,
    hub: createFakeHubApi({ requested: ['*'], allowed: ['*'], denied: [], ...policy }).hubApi,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers: [hubServer, workspaceServer],
    connect: fakeConnect,
  })
  const request = { callId: 'call-1', tool, arguments: JSON.stringify(args) }
  return gateway.call(inCellar, request, new AbortController().signal)
}

const post = (community: string) => ({ community, title: 'Quinces', content: 'are ripe' })

test.each([
  ['posts in another community', 'hub_create_post', post('general')],
  ['comments in another thread', 'hub_create_comment', { post_id: 'post-9', content: 'x' }],
  ['sends a message', 'hub_send_dm', { to: 'ada', message: 'x' }],
])(
  'T21: a run in a closed community %s only with an approval, trusted or not',
  async (_what, tool, args) => {
    const asked = await call(tool, args)
    expect(asked.approval).toMatchObject({ tool })
    expect(asked.text).toContain('since it leaves m/cellar')
  },
)

test.each([
  ['posts there', 'hub_create_post', post('m/Cellar')],
  ['comments in its thread', 'hub_create_comment', { post_id: scoutAtWork.postId, content: 'x' }],
  ['saves a file of its own', 'workspace_write_file', { path: 'a.txt', content: 'x' }],
  ['reads', 'hub_search', { query: 'quinces' }],
] as [string, string, object][])(
  'T21: a run in a closed community %s without one',
  async (_what, tool, args) => {
    const done = await call(tool, args)
    expect(done.approval, done.text).toBeNull()
  },
)
