import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { checkDefinition } from '../../../src/agents/definitions/check-definition'
import {
  computeDefinitionEtag,
  createDefinitionStore,
} from '../../../src/agents/definitions/definition-store'
import type { Model, ModelChoice } from '../../../src/agents/models/model-port'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { servers } from '../../../src/mcp-servers/servers'

const files = {
  'config.yaml': 'name: scout\nbrain:\n  provider: anthropic\n  model: big\n  max_tokens: 1000\n',
  'system-prompt.md': 'You are {{name}}.',
}

const listServers = () => ['hub', 'weather']
const { isTooWide, hasToolForPattern: hasTool } = listKnownTools(servers)
const hookNames = ['budget-awareness', 'quiet-hours']
const offer = { listServers, hookNames, isGranted, isTooWide, hasTool }

const aModel = (over: Partial<Model> = {}): Model => ({
  id: 'anthropic/big',
  provider: 'anthropic',
  isOffline: false,
  contextTokens: 200_000,
  outputTokensMax: 64_000,
  prices: { input: 3_000_000, cached: 300_000, output: 15_000_000 },
  call: () => Promise.reject(new Error('not called')),
  ...over,
})

async function factsOf(model: Model, over: Record<string, string> = {}) {
  const check = await checkDefinition(
    { ...files, ...over },
    { listModels: () => [model], ...offer },
  )
  if (!check.ok) throw new Error(JSON.stringify(check.problems))
  return check.facts
}

test('B4: the floor and the want of a call are its worst case in whole micro-dollars', async () => {
  const asked: ModelChoice[] = []
  const listModels = (choice: ModelChoice) => {
    asked.push(choice)
    return [aModel()]
  }
  const check = await checkDefinition(files, {
    listModels,
    ...offer,
  })
  expect(asked).toEqual([{ provider: 'anthropic', model: 'big' }])
  expect(check).toEqual({
    ok: true,
    facts: {
      name: 'scout',
      namePath: 'config.yaml:1:name',
      displayName: null,
      description: '',
      model: 'anthropic/big',
      models: ['anthropic/big'],
      priority: 'normal',
      activationTokensMax: 100_000,
      runCostMaxMicrousd: 1_500_000,
      isOffline: false,
      grants: [],
      answersMentions: true,
      answersReplies: true,
      answersDms: true,
      followsThreads: true,
      exploration: null,
      readsProviders: false,
      trial: null,
      trialPath: 'config.yaml:1:trial.set',
      adminFields: [],
      schedules: [],
      writing: {
        dailyPostsMax: 5,
        dailyCommentsMax: 50,
        responsesPerThreadMax: 3,
        intervalMs: 60_000,
      },
      durationSecondsMax: 300,
      // 256 x $15 and 48,000 x $3 + 1,000 x $15, per million
      callFloor: { microusd: 3_840, tokens: 256 },
      callWant: { microusd: 159_000, tokens: 49_000 },
      budget: { costPerDayMicrousd: null },
      etag: await computeDefinitionEtag(files),
      warnings: [],
    },
  })
})

test('B6: the candidate models are reported, with a floor for the cheapest and a want for the most expensive', async () => {
  const cheap = aModel({ id: 'openai/cheap', prices: { input: 1_000_000, cached: 0, output: 0 } })
  const config = `${files['config.yaml']}  alternatives: [openai/cheap, workers-ai/away]\n`
  const check = await checkDefinition(
    { ...files, 'config.yaml': config },
    { listModels: () => [aModel(), cheap], ...offer },
  )
  expect(check).toMatchObject({
    facts: {
      model: 'anthropic/big',
      models: ['anthropic/big', 'openai/cheap'],
      callFloor: { microusd: 0 },
      callWant: { microusd: 159_000 },
      warnings: [{ message: expect.stringContaining('workers-ai/away') }],
    },
  })
})

test('B4: a part of a micro-dollar is rounded up, and the model limits the answer', async () => {
  const cheap = aModel({ prices: { input: 50_001, cached: 0, output: 0 }, outputTokensMax: 100 })
  const { callFloor, callWant } = await factsOf(cheap)
  expect(callFloor).toEqual({ microusd: 0, tokens: 100 })
  expect(callWant).toEqual({ microusd: 2_401, tokens: 48_100 })
})

test('B7: an offline or unpriced model costs nothing and is counted in tokens', async () => {
  const unpriced = await factsOf(aModel({ prices: null }))
  expect(unpriced.callWant).toEqual({ microusd: 0, tokens: 49_000 })
  expect(unpriced.warnings).toEqual([])
  const near = await factsOf(aModel({ prices: null, similarTo: 'big-one' }))
  expect(near.warnings).toEqual([
    { path: 'config.yaml:4:brain.model', message: expect.stringContaining('only that of big-one') },
  ])
  const offline = await factsOf(aModel({ id: 'offline/extractive', isOffline: true, prices: null }))
  expect(offline).toMatchObject({ isOffline: true, callFloor: { microusd: 0, tokens: 256 } })
  expect(offline.warnings).toEqual([
    {
      path: 'config.yaml:3:brain.provider',
      message: 'No key for anthropic/big: the offline model answers until a key is set',
    },
  ])
})

test('D3: an invalid definition is checked without a model lookup', async () => {
  const broken = { ...files, 'config.yaml': 'name: scout\nbrain: 3' }
  const listModels = () => {
    throw new Error('asked')
  }
  const check = await checkDefinition(broken, {
    listModels,
    ...offer,
  })
  expect(check).toMatchObject({ ok: false, problems: [{ path: 'config.yaml:2:brain' }] })
})

test('D2: an unknown tool server warns and lists the servers of this hub', async () => {
  const config = [
    '# who',
    'name: scout',
    'capabilities:',
    '  mcp_servers:',
    '    - hub',
    '    - nope',
    '    - { name: shell }',
    '    - { name: far, url: "https://far.test/mcp" }',
    '    - { name: near, command: npx }',
  ].join('\n')
  const { namePath, warnings } = await factsOf(aModel(), { 'config.yaml': config })
  expect(namePath).toBe('config.yaml:2:name')
  expect(warnings.map(({ path, message }) => `${path} ${message}`)).toEqual([
    'config.yaml:6:capabilities.mcp_servers.1 Ignored: this hub has no server nope; it has hub, weather',
    'config.yaml:7:capabilities.mcp_servers.2 Ignored: this hub has no server shell; it has hub, weather',
    expect.stringMatching(
      /^config\.yaml:8:capabilities\.mcp_servers\.3\.url Ignored: .* an admin to add .*\/tools\/remote/,
    ),
    expect.stringMatching(/^config\.yaml:9:capabilities\.mcp_servers\.4\.command Ignored: /),
  ])
})

const reserved = ['filesystem', 'file-system', 'fs', 'shell', 'bash', 'terminal', 'weather', 'acme']

test.each(reserved)(
  'D2: a grant of a server %s warns only while no tool here needs it, whatever the server is called',
  async (server) => {
    const config = [
      'name: scout',
      'capabilities:',
      `  mcp_servers: [${server}, { name: ${server}, url: "https://acme.example/mcp" }]`,
      `  grants: ["${server}:read", "${server}:delete"]`,
    ].join('\n')
    const warningsWith = async (servers: string[], granted: string[]) => {
      const check = await checkDefinition(
        { ...files, 'config.yaml': config },
        {
          ...offer,
          listModels: () => [aModel()],
          listServers: () => servers,
          hasTool: (grant) => granted.includes(grant),
        },
      )
      if (!check.ok) throw new Error(JSON.stringify(check.problems))
      return check.facts.warnings.map(({ path, message }) => `${path} ${message}`)
    }
    const place = 'config.yaml:3:capabilities.mcp_servers.1.url'
    const mapped = await warningsWith(['hub', server], [`${server}:read`, `${server}:delete`])
    expect(mapped).toEqual([expect.stringMatching(`^${place} Ignored: this hub has a server`)])
    const [, partly, ...rest] = await warningsWith([server], [`${server}:read`])
    expect(partly).toContain(`no tool of this hub needs ${server}:delete.`)
    expect(rest).toEqual([])
    const without = await warningsWith(['hub'], [])
    expect(without.filter((line) => line.includes('capabilities.grants.'))).toHaveLength(2)
    expect(without).toContainEqual(expect.stringMatching(`^${place} Ignored: only an admin`))
  },
)

test('D2: a grant says why it has no effect: its tools are hidden, or its server is not on the list', async () => {
  const warningsOf = async (servers: string, hasTool: (grant: string) => boolean) => {
    const config = `name: scout\ncapabilities:\n  mcp_servers: [${servers}]\n  grants: ["acme:read", "hub:read", "results:read"]\n`
    const check = await checkDefinition(
      { ...files, 'config.yaml': config },
      { ...offer, listModels: () => [aModel()], listServers: () => ['hub', 'acme'], hasTool },
    )
    if (!check.ok) throw new Error(JSON.stringify(check.problems))
    return check.facts.warnings.map(({ path, message }) => `${path} ${message}`)
  }
  expect(await warningsOf('hub, acme', () => true)).toEqual([])
  expect(await warningsOf('', () => true)).toEqual([])
  expect(await warningsOf('hub', () => true)).toEqual([
    expect.stringMatching(
      /^config\.yaml:4:capabilities\.grants\.0 No effect: capabilities\.mcp_servers does not list acme/,
    ),
  ])
  expect(await warningsOf('hub, acme', (grant) => grant !== 'acme:read')).toEqual([
    expect.stringMatching(/grants\.0 No effect: no tool .* acme:read\. The server acme is there: /),
  ])
})

test('D5: a skill whose grants the definition does not request warns at load', async () => {
  const skill = (grants: string) =>
    `---\nname: pulls\ndescription: x\nrequires_grants: [${grants}]\n---\nOpen one.`
  const warn = async (grants: string) => {
    const over = {
      'config.yaml': 'name: scout\ncapabilities:\n  grants: ["github:*"]',
      'skills/pulls/SKILL.md': skill(grants),
    }
    return (await factsOf(aModel(), over)).warnings
  }
  expect(await warn('github:write, "aws:s3:read:a"')).toEqual([
    {
      path: 'config.yaml:3:capabilities.grants',
      message: 'The skill pulls is left out: it requires aws:s3:read:a. Request it here',
    },
  ])
  expect(await warn('github:write')).toEqual([])
})

test('D5: an agent with skills can read them without a grant request', async () => {
  const skill = { 'skills/a/SKILL.md': '---\nname: a\ndescription: b\n---\nc' }
  expect((await factsOf(aModel(), skill)).grants).toEqual(['skills:read'])
  expect((await factsOf(aModel())).grants).toEqual([])
})

test('D1: equal files have one etag, any change another', async () => {
  const etag = await computeDefinitionEtag(files)
  expect(etag).toMatch(/^[0-9a-f]{64}$/)
  const { 'config.yaml': config, 'system-prompt.md': prompt } = files
  expect(await computeDefinitionEtag({ 'system-prompt.md': prompt, 'config.yaml': config })).toBe(
    etag,
  )
  expect(await computeDefinitionEtag({ ...files, 'system-prompt.md': `${prompt} ` })).not.toBe(etag)
  expect(await computeDefinitionEtag({ a: 'bc', d: '' })).not.toBe(
    await computeDefinitionEtag({ a: 'b', cd: '' }),
  )
})

const bucket = (env as unknown as { FILES: R2Bucket }).FILES

test('L15: a saved definition is read back, each version by its etag', async () => {
  const store = createDefinitionStore(bucket)
  const etag = await computeDefinitionEtag(files)
  await store.save('scout', etag, files)
  await store.save('scout', etag, files)
  const newer = { ...files, 'system-prompt.md': 'Newer.' }
  const newerEtag = await computeDefinitionEtag(newer)
  await store.save('scout', newerEtag, newer)
  expect(await bucket.get(`agents/scout/${etag}/config.yaml`)).not.toBeNull()
  expect(await store.read('scout', etag)).toMatchObject({
    ok: true,
    definition: { systemPrompt: 'You are scout.' },
  })
  expect(await store.read('scout', newerEtag)).toMatchObject({
    ok: true,
    definition: { systemPrompt: 'Newer.' },
  })
})

test('L15: a missing, incomplete or invalid definition is an error that names the file', async () => {
  const store = createDefinitionStore(bucket)
  const messageOf = async (name: string, etag: string) => {
    const read = await store.read(name, etag)
    return read.ok ? null : read.message
  }
  expect(await messageOf('nobody', 'none')).toMatch(/nobody has no config\.yaml/)

  const skilled = { ...files, 'skills/a/SKILL.md': '---\nname: a\ndescription: b\n---\nc' }
  const etag = await computeDefinitionEtag(skilled)
  await store.save('half', etag, skilled)
  await bucket.delete(`agents/half/${etag}/skills/a/SKILL.md`)
  expect(await messageOf('half', etag)).toMatch(/half has no complete skills/)
  await bucket.delete(`agents/half/${etag}/system-prompt.md`)
  expect(await messageOf('half', etag)).toMatch(/half has no system-prompt\.md/)

  const broken = { ...files, 'config.yaml': 'name: scout\nbrain: 3' }
  const brokenEtag = await computeDefinitionEtag(broken)
  await store.save('broken', brokenEtag, broken)
  expect(await messageOf('broken', brokenEtag)).toMatch(/config\.yaml:2:brain /)
})

test('L32: an unknown hook warns and lists the hooks of this deployment', async () => {
  const config = 'name: scout\nhooks:\n  enable: [nope, quiet-hours]\n  disable: [nope2]\n'
  const { warnings } = await factsOf(aModel(), { 'config.yaml': config })
  expect(warnings).toEqual([
    {
      path: 'config.yaml:3:hooks.enable.0',
      message: 'Ignored: this hub has no hook nope; it has budget-awareness, quiet-hours',
    },
    {
      path: 'config.yaml:4:hooks.disable.0',
      message: 'Ignored: this hub has no hook nope2; it has budget-awareness, quiet-hours',
    },
  ])
})

test('L32: a hook that is both enabled and disabled is an error that names its line', async () => {
  const config = 'name: scout\nhooks:\n  enable: [quiet-hours]\n  disable: [quiet-hours]\n'
  const offered = {
    listModels: () => [aModel()],
    ...offer,
  }
  const check = await checkDefinition({ ...files, 'config.yaml': config }, offered)
  expect(check).toEqual({
    ok: false,
    problems: [
      {
        path: 'config.yaml:3:hooks.enable.0',
        message: 'The hook quiet-hours is both enabled and disabled. Remove it from one list',
      },
    ],
  })
})

test('M3: a grant without its required resource warns', async () => {
  const grants = ['hub:*', 'aws:*', 'aws:s3:read:artifacts', 'aws:s3:read:*']
  const config = `${files['config.yaml']}capabilities:\n  grants:\n${grants.map((grant) => `    - "${grant}"\n`).join('')}`
  const { warnings } = await factsOf(aModel(), { 'config.yaml': config })
  const message = (grant: string) =>
    `${grant} has no effect: grants of aws must name a resource, e.g. aws:s3:read:my-bucket`
  expect(warnings).toEqual([
    { path: expect.stringMatching(/^config\.yaml/), message: message('aws:*') },
    { path: expect.stringMatching(/^config\.yaml/), message: message('aws:s3:read:*') },
  ])
})
