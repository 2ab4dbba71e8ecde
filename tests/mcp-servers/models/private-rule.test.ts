import { afterEach, expect, test, vi } from 'vitest'
import { isOwnMachine } from '../../../src/compose'
import type { ModelConnection } from '../../../src/hub/contract/hub'
import { createRecentSecrets } from '../../../src/mcp-servers/credentials/scrub'
import { createPrivateRule } from '../../../src/mcp-servers/fetch/check-url'
import { createModelAccess } from '../../../src/mcp-servers/models/model-access'
import { createModelKind } from '../../../src/mcp-servers/models/model-store'
import { findServiceProblems } from '../../../src/mcp-servers/services/check-service'
import { readSettings } from '../../../src/shared/settings'

afterEach(() => void vi.restoreAllMocks())

const ownMachine = createPrivateRule({ isPrivateAllowed: false, isOwnMachine: true })
const deployed = createPrivateRule({ isPrivateAllowed: false, isOwnMachine: false })
const withSetting = createPrivateRule({ isPrivateAllowed: true, isOwnMachine: false })

/** Where the names of this test lead. */
const names: Record<string, string> = {
  'loopback.example.com': '127.0.0.1',
  'models.example.com': '93.184.215.14',
}

const connect = (url: string): ModelConnection => ({
  provider: 'openai-compatible',
  baseUrl: url,
  hasKey: false,
  keyProblem: null,
  defaultModel: null,
  listed: [],
  prices: {},
  revision: 'one',
  sealed: { credential: null, headers: {}, allowHttp: true, allowPrivate: true, isBuiltIn: false },
})

/** Returns what a hub with this rule says to a base URL when it is saved, and what it requests when it is used. */
async function tryUrl(url: string, canReachPrivate: typeof deployed, answer = new Response('{}')) {
  const kind = createModelKind(new Map())
  const declared = { hosts: [], headers: {}, allow_http: true, allow_private: true }
  const problems = findServiceProblems({ base_url: url, ...declared }, kind, canReachPrivate)
  const sent = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => answer)
  const access = createModelAccess({
    vault: { read: async () => '' },
    known: createRecentSecrets(),
    canReachPrivate,
    resolve: async (hostname) => [names[hostname] ?? hostname.replace(/[[\]]/g, '')],
  })
  const status = await access
    .open(connect(url))
    .fetch(`${url}/models`)
    .then(
      (response) => response.status,
      () => 'refused',
    )
  const requested = sent.mock.calls.map(([to]) => String(to))
  sent.mockRestore()
  return { isSaved: problems.length === 0, status, requested }
}

test.each([
  // the URL, and whether a hub on one's own machine, a deployed one, and one with the setting use it
  ['http://127.0.0.1:11434/v1', true, false, true],
  ['http://localhost:11434/v1', true, false, true],
  ['http://[::1]:11434/v1', true, false, true],
  ['http://127.1:11434/v1', true, false, true],
  ['http://127.9.8.7:11434/v1', true, false, true],
  ['http://2130706433:11434/v1', true, false, true],
  ['http://0x7f000001:11434/v1', true, false, true],
  ['http://0177.0.0.1:11434/v1', true, false, true],
  ['http://0.0.0.0:11434/v1', false, false, true],
  ['http://0:11434/v1', false, false, true],
  ['http://[::]:11434/v1', false, false, true],
  ['http://[::ffff:127.0.0.1]:11434/v1', false, false, true],
  ['http://localhost.:11434/v1', false, false, true],
  ['http://ollama.localhost:11434/v1', false, false, true],
  ['http://ollama:11434/v1', false, false, true],
  ['http://10.1.2.3/v1', false, false, true],
  ['http://192.168.1.20:1234/v1', false, false, true],
  ['http://172.20.0.3:8000/v1', false, false, true],
  ['http://169.254.169.254/v1', false, false, true],
  ['http://[fd00::7]/v1', false, false, true],
])(
  'M13: a base URL %s is saved and used on one’s own machine: %s, deployed: %s, with the setting: %s',
  async (url, ...expected) => {
    const rules = [ownMachine, deployed, withSetting]
    for (const [at, rule] of rules.entries()) {
      const { isSaved, status, requested } = await tryUrl(url, rule)
      expect([isSaved, status === 200, requested.length === 1]).toEqual(Array(3).fill(expected[at]))
    }
  },
)

test('M13: a public name that leads to loopback is not requested without the setting, wherever the hub runs', async () => {
  const url = 'https://loopback.example.com/v1'
  for (const rule of [ownMachine, deployed])
    expect(await tryUrl(url, rule)).toMatchObject({ status: 'refused', requested: [] })
  expect(await tryUrl('https://models.example.com/v1', ownMachine)).toMatchObject({ status: 200 })
})

test('M13: a redirect from a public server to loopback is not followed, wherever the hub runs', async () => {
  for (const rule of [ownMachine, deployed, withSetting]) {
    const location = 'http://127.0.0.1:11434/v1/models'
    const redirect = new Response(null, { status: 307, headers: { location } })
    const tried = await tryUrl('https://models.example.com/v1', rule, redirect)
    expect(tried).toMatchObject({
      status: 307,
      requested: ['https://models.example.com/v1/models'],
    })
  }
})

test.each([
  ['npm start', true, undefined, true],
  ['npm start', true, 'http://localhost:9000,http://127.0.0.1:9000', true],
  ['npm start behind a public name', true, 'https://hub.example.com', false],
  ['npm start with one public name', true, 'http://localhost:9000,http://192.168.1.9:9000', false],
  ['the platform', false, undefined, false],
  ['the platform', false, 'http://localhost:8787', false],
])(
  'a hub of %s (binding: %s, origin: %s) runs on one’s own machine: %s',
  (_, isBound, origin, isOwn) => {
    const env = isBound ? { MACHINE: { fetch } as unknown as Fetcher } : {}
    expect(isOwnMachine(env, readSettings(origin ? { ROOKERY_ORIGIN: origin } : {}))).toBe(isOwn)
  },
)
