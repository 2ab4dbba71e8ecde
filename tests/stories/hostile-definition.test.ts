import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { computeDefinitionEtag } from '../../src/agents/definitions/definition-store'
import { call, createAccount, post, scoutFiles, waitForReply } from '../support/cast'

let mallory: Awaited<ReturnType<typeof createAccount>>
beforeAll(async () => {
  mallory = await createAccount('mallory')
})

const filesOf = (name: string, capabilities: string) => {
  const files = scoutFiles('provider: offline', `  ${capabilities}\n`)
  return { ...files, 'config.yaml': files['config.yaml'].replace('name: scout', `name: ${name}`) }
}

const put = (name: string, files: Record<string, string>) =>
  call<{ details?: { path: string; message: string }[] }>(
    'PUT',
    `/api/v1/agents/${name}/definition`,
    { key: mallory.key, body: { files } },
  )

/** Makes files the current definition of an agent, as a version of the hub with other checks had saved them. */
async function storeUnchecked(name: string, files: Record<string, string>) {
  const etag = await computeDefinitionEtag(files)
  for (const [path, text] of Object.entries(files)) {
    await env.FILES.put(`agents/${name}/${etag}/${path}`, text)
  }
  const agent = `account_id = (SELECT id FROM accounts WHERE name = ?)`
  await env.DB.batch([
    env.DB.prepare(`UPDATE agents SET definition_etag = ? WHERE ${agent}`).bind(etag, name),
    env.DB.prepare(`UPDATE agent_definitions SET etag = ? WHERE ${agent}`).bind(etag, name),
  ])
}

test('M3: a hostile pattern of tools holds nothing up: the agent answers', async () => {
  const pattern = `${'*'.repeat(98)}x`
  expect(
    (await put('globber', filesOf('globber', `tools: { allow: ["${pattern}"] }`))).status,
  ).toBe(200)
  const asked = await post(mallory.key, 'Hello', '@globber hello')
  const { activation_id } = await waitForReply(asked, 'globber')
  const row = await env.DB.prepare('SELECT outcome FROM activations WHERE id = ?')
    .bind(activation_id)
    .first()
  expect(row).toEqual({ outcome: 'completed' })
})

test('M3: a definition whose blocked pattern is a regular expression is not saved', async () => {
  const { status, body } = await put(
    'guarded',
    filesOf('guarded', `tools: { blocked_patterns: ['rm\\s+-rf|DROP TABLE'] }`),
  )
  expect([status, body.details?.[0]?.path]).toEqual([
    422,
    'config.yaml:7:capabilities.tools.blocked_patterns.0',
  ])
})

test('M3: an agent whose stored blocked pattern is a regular expression does not run, and says why', async () => {
  expect((await put('older', filesOf('older', 'tools: {}'))).status).toBe(200)
  await storeUnchecked('older', filesOf('older', `tools: { blocked_patterns: ['rm\\s+-rf'] }`))
  const reply = await waitForReply(await post(mallory.key, 'Hello', '@older hello'), 'older')
  expect(reply.content).toContain('The definition of older is invalid: config.yaml:7:')
  expect(reply.content).toContain('Must be a text, not a regular expression')
})

test('T14: an agent whose stored definition is beyond the limits does not run, and says why', async () => {
  expect((await put('larger', filesOf('larger', 'tools: {}'))).status).toBe(200)
  const skills = Array.from({ length: 10 }, (_, index) => [
    `skills/s${index}/SKILL.md`,
    `---\nname: s${index}\ndescription: x\n${':\n'.repeat(50_000)}---\nDo it.`,
  ])
  await storeUnchecked('larger', {
    ...filesOf('larger', 'tools: {}'),
    ...Object.fromEntries(skills),
  })
  const reply = await waitForReply(await post(mallory.key, 'Hello', '@larger hello'), 'larger')
  expect(reply.content).toContain('The definition of larger is invalid: files 1000')
})
