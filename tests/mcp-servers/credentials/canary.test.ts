import { env, exports } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { running, slowly, watch } from '../../hub/live/watch-agents'
import {
  countReports,
  createFinder,
  echoes,
  expectNotKept,
  expectNowhere,
  watchLog,
} from '../../support/canary'
import { createAccount, post, waitForReply, waitForValue } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { createAgent } from '../../support/create-agent'
import { externalUrls } from '../../support/external-services'
import { formsOf } from '../../support/forms'
import { login, testDatabase } from '../../support/postgres-login'
import { add, echo, mapEcho, remoteEchoes, setBehavior } from '../../support/remote-servers'
import { sample } from '../../support/sample'
import { allow, asAdmin, declareWithKey, serviceUrl } from '../../support/services'
import { waitForServer } from '../servers/open-database'

/** With everything that is written differently somewhere. */
const canary = 'cAnary-"7/\\&<+ =~Zq%42_end'

/** Parts that no way of escaping changes; nothing else here is written like this. */
const pieces = ['cAnary-', 'Zq%42_end', 'Zq%2542_end', '42_end']
const awsCanary = {
  access_key_id: 'AKIDcAnary0Zq42_end',
  secret_access_key: 'cAnary-/aws+Zq%42_end',
  session_token: 'cAnary-token-Zq%42_end',
}
const reversed = [...login.password].toReversed().join('')

interface Plant {
  /** Which of several for a server. */
  kind?: string
  server: string
  service?: string
  baseUrl: string
  secret: string
  /** The secret's parts, which must not be seen either. */
  parts?: string[]
  grants: string[]
  calls: { name: string; arguments: object }[]
  /** How many of the calls, at least, tell of something that was taken out. */
  told: number
  /** Before the agent asks. */
  prepare?: () => Promise<unknown>
  /** The model's server refuses after the calls, so that the activation is reported. */
  isFailing?: boolean
  /** Instead of a service that an admin declares. */
  add?: (credential: string) => Promise<void>
}

const githubUrl = `${externalUrls.github}/canary`
const everyForm = formsOf(canary).join(' ')
const ofTools = { owner: 'acme', repo: 'tools' }

/** A GitHub that gives it back where GitHub has texts: in an issue, a comment, a file and errors. */
async function leakOnGithub() {
  const post = (path: string, body: unknown) =>
    fetch(`${githubUrl}/${path}`, {
      method: 'POST',
      headers: { authorization: 'Bearer somebody-else' },
      body: JSON.stringify(body),
    })
  await post('repos/acme/tools/issues', { title: canary, body: everyForm, labels: [canary] })
  await post('repos/acme/tools/issues/1/comments', { body: everyForm })
  const text = `${'x'.repeat(39_990)}${canary}${everyForm}`
  const content = btoa(text).replace(/.{60}/g, '$&\n')
  const file = { type: 'file', encoding: 'base64', size: text.length, sha: 'f', content }
  const errors = formsOf(canary).map((message) => ({ code: 'custom', field: 'title', message }))
  await post('_plan', [
    { method: 'GET', status: 200, body: file },
    { method: 'POST', status: 422, body: { message: everyForm, errors } },
  ])
}

/** A remote MCP server that knows the credential when it is asked for its tools too. */
async function addRemote(credential: string) {
  const properties = { how: { type: 'string', description: everyForm }, [canary]: {} }
  const leaky = { ...echo, description: everyForm, inputSchema: { type: 'object', properties } }
  await setBehavior('far', { tools: [leaky, { ...leaky, name: `x${canary}` }] })
  const headers = { Authorization: 'Bearer {credential}' }
  const { remote } = await add('far', `${externalUrls.mcp}/hostile/far`, { credential, headers })
  expect(remote.failure).toBeNull()
  expect((await mapEcho('far')).status).toBe(200)
}

const ofEcho = (form: string) => form.slice(1)

const echoing: Plant = {
  server: 'http',
  service: 'echo',
  baseUrl: `${serviceUrl}/api`,
  secret: canary,
  grants: ['http:echo:read'],
  calls: echoes.map((path) => ({ name: 'http_request', arguments: { service: 'echo', path } })),
  told: echoes.length,
}

/** One for every server that reaches outside, and what makes its service give the credential back. */
const plants: Plant[] = [
  echoing,
  { ...echoing, kind: 'of any shape, to an activation that fails', isFailing: true },
  {
    server: 'github',
    baseUrl: serviceUrl,
    secret: canary,
    grants: ['github:read'],
    calls: echoes.map((form) => ({
      name: 'github_get_file',
      arguments: { owner: 'acme', repo: ofEcho(form), path: 'a' },
    })),
    told: 1,
  },
  {
    kind: 'of known shapes',
    server: 'github',
    baseUrl: githubUrl,
    secret: canary,
    grants: ['github:read', 'github:write'],
    calls: [
      { name: 'github_get_file', arguments: { ...ofTools, path: 'a' } },
      { name: 'github_get_issue', arguments: { ...ofTools, number: 1 } },
      { name: 'github_list_issues', arguments: ofTools },
      { name: 'github_add_comment', arguments: { ...ofTools, number: 1, body: 'Hello.' } },
    ],
    told: 4,
    prepare: leakOnGithub,
  },
  {
    kind: 'of known shapes',
    server: 'brave',
    baseUrl: `${externalUrls.brave}/res/v1`,
    secret: canary,
    grants: ['brave:search'],
    calls: [
      { name: 'brave_search', arguments: { query: 'leak', count: 20 } },
      { name: 'brave_search', arguments: { query: 'leakerror' } },
    ],
    told: 20,
  },
  {
    server: 'brave',
    baseUrl: serviceUrl,
    secret: canary,
    grants: ['brave:search'],
    calls: echoes.map((form) => ({ name: 'brave_search', arguments: { query: ofEcho(form) } })),
    told: 1,
  },
  {
    server: 'aws',
    baseUrl: serviceUrl,
    secret: JSON.stringify(awsCanary),
    parts: Object.values(awsCanary),
    grants: ['aws:s3:read:artifacts'],
    calls: echoes.map((form) => ({
      name: 'aws_s3_get',
      arguments: { bucket: 'artifacts', key: ofEcho(form) },
    })),
    told: 8,
  },
  {
    server: 'postgres',
    service: 'main',
    baseUrl: testDatabase.baseUrl,
    secret: testDatabase.credential,
    parts: [login.password],
    grants: ['postgres:main:read'],
    calls: [
      `SELECT reverse('${reversed}') AS plain, encode(reverse('${reversed}')::bytea, 'hex') AS hex`,
      `SELECT encode(('x' || reverse('${reversed}') || 'y')::bytea, 'base64') AS base64`,
      `SELECT json_build_object(reverse('${reversed}'), 1) AS key`,
      `SELECT reverse('${reversed}')::int AS error`,
    ].map((sql) => ({ name: 'postgres_query', arguments: { database: 'main', sql } })),
    told: 4,
    prepare: waitForServer,
  },
  {
    server: 'remote',
    service: 'far',
    baseUrl: `${externalUrls.mcp}/hostile/far`,
    secret: canary,
    grants: ['far:use'],
    calls: remoteEchoes.map((how) => ({ name: 'far_echo', arguments: { how } })),
    told: 3 * remoteEchoes.length,
    add: addRemote,
  },
]

async function plant({ server, service = server, baseUrl, secret, prepare, add }: Plant) {
  await prepare?.()
  // what an echo cannot read from a request, it is told
  await fetch(`${serviceUrl}/tell`, { method: 'POST', body: server === 'aws' ? secret : '' })
  const declared = { base_url: baseUrl, allow_http: true, allow_private: true }
  const headers = { Authorization: 'Bearer {credential}' }
  const body = server === 'http' ? { ...declared, headers } : declared
  // one that was set for another address is not sent to this one
  await asAdmin('DELETE', `/credentials/${server}-canary`)
  const put = add ? null : await asAdmin('PUT', `/services/${server}/${service}`, body)
  if (put) expect(put.status, JSON.stringify(put.body)).toBe(200)
  const named = { value: secret, server, service }
  const set = await asAdmin('PUT', `/credentials/${server}-canary`, named)
  expect(set.status, JSON.stringify(set.body)).toBe(200)
  await add?.(`${server}-canary`)
}

test.each(sample(plants, 3).map((each) => ({ kind: 'of any shape', ...each })))(
  'M5 M6: the credential for $server $kind, given back in every form, is in no answer, prompt, frame, table, file, store, log or page',
  async (planted) => {
    const { server, kind, secret, parts = [], grants, calls, told, isFailing } = planted
    const name = `courier-${server}${kind.length}`
    const logged = watchLog()
    await plant(planted)
    const mira = await createAccount(`mira-${server}${kind.length}`)
    const half = Math.ceil(calls.length / 2)
    // slowly, so that who watches is there before the first call
    const steps = [calls.slice(0, half), calls.slice(half)].map((some) => ({
      ...slowly('I go and ask the service what it knows.'),
      calls: some,
    }))
    const last = isFailing
      ? { status: 400, message: 'I cannot read this.' }
      : { text: 'I have asked everywhere.' }
    const agent = await createAgent(name, [...steps, last], {
      grants: ['hub:read', ...grants],
    })
    await allow(agent.accountId, ['hub:*', ...grants.map((each) => `${each} trusted`)])
    const postId = await post(mira.key, 'An errand', `@${name} ask the service please`)
    const watcher = await watch(await running(postId))
    const reply = await waitForReply(postId, agent.name)
    await waitForValue(async () => watcher.isClosed(), 'the end')
    expect(reply.content).toContain(isFailing ? 'answered 400' : 'I have asked everywhere')
    expect(await countReports(name)).toBe(isFailing ? 1 : 0)
    const isPlanted = server !== 'postgres'
    const holds = createFinder([secret, ...parts], isPlanted ? pieces : [])
    const found = await expectNowhere(holds, { agent, reply, postId, logged, watcher })
    expect(found.told).toBeGreaterThanOrEqual(told)
  },
)

/** What is logged on behalf of callers from outside. */
const loggedOutside: string[] = []

test.each(echoes)(
  'M6: an outside caller does not see the credential in %s either',
  async (path) => {
    const logged = watchLog()
    await declareWithKey('echo', 'echo-key', canary)
    const agent = await createAccount(`swift${path.slice(1)}`, 'agent')
    await allow(agent.id, ['http:echo:*'])
    const client = await connectMcp((request) => exports.default.fetch(request), agent.key, '/mcp')
    const result = await client.callTool({
      name: 'http_request',
      arguments: { service: 'echo', path },
    })
    const text = textOf(result)
    expect(createFinder([canary], pieces)(text), text.slice(0, 300)).toBe(false)
    const isSilent = ['/long', '/utf16', '/gone', '/nowhere'].includes(path)
    expect(text.includes('[redacted]'), text.slice(0, 300)).toBe(!isSilent)
    loggedOutside.push(...logged)
  },
)

test.each(remoteEchoes)(
  'M6 M12: nor do the answers and the progress of a remote MCP server tell it (%s)',
  async (how) => {
    const logged = watchLog()
    await asAdmin('PUT', '/credentials/near', { value: canary, server: 'remote', service: 'near' })
    await setBehavior('near', { tools: [echo] })
    const headers = { Authorization: 'Bearer {credential}' }
    await add('near', `${externalUrls.mcp}/hostile/near`, { credential: 'near', headers })
    await mapEcho('near')
    const agent = await createAccount(`swallow-${how}`, 'agent')
    await allow(agent.id, ['near:use'])
    const client = await connectMcp((request) => exports.default.fetch(request), agent.key, '/mcp')
    const progress: unknown[] = []
    const result = await client.callTool({ name: 'near_echo', arguments: { how } }, undefined, {
      onprogress: (each) => progress.push(each),
    })
    const text = JSON.stringify([progress, result])
    expect(createFinder([canary], pieces)(text), text.slice(0, 300)).toBe(false)
    expect(text).toContain('[redacted]')
    expect(progress.length > 0).toBe(how.startsWith('echo-in'))
    loggedOutside.push(...logged)
  },
)

test('M5 M6: and nothing that their calls left in tables, files, objects or the log holds it', async () => {
  await expectNotKept(createFinder([canary], pieces), loggedOutside)
  const { results } = await env.DB.prepare(
    `SELECT l.tool, count(*) AS calls FROM audit_log l JOIN accounts a ON a.id = l.account_id
     WHERE a.name LIKE 'swift%' OR a.name LIKE 'swallow%' GROUP BY l.tool ORDER BY l.tool`,
  ).all()
  expect(results).toEqual([
    { tool: 'http_request', calls: echoes.length },
    { tool: 'near_echo', calls: remoteEchoes.length },
  ])
})
