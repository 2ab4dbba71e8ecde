import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HubClient } from '../../client/index.ts'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { root } from '../../scripts/local-state.mjs'
import { samples } from '../hub/media/samples.ts'
import { runCommand } from './run-command'
import { runScript } from './run-script'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-commands-'))
const stateDir = join(folder, 'state')
let hub: Hub

beforeAll(async () => {
  hub = await startHub({ stateDir })
})
afterAll(async () => {
  await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function run(script: string, ...args: string[]) {
  // No URL and no key: the commands find both beside the data.
  const { ended, output } = runScript(script, args, { ROOKERY_STATE_DIR: stateDir })
  return { code: await ended, output: output() }
}

describe('npm run audit-budgets', () => {
  test('B11: what was counted is compared with usage, repaired when asked, and the exit code tells', async () => {
    expect(await run('audit-budgets.mjs')).toEqual({
      code: 0,
      output: 'Every budget counted what usage says.\n',
    })
    const db = await hub.openDatabase()
    await db
      .prepare('UPDATE budget_windows SET spent_microusd = 7 WHERE starts_at <= ?')
      .bind(Date.now())
      .run()
    const wrong = await run('audit-budgets.mjs')
    expect(wrong.output).toContain('counted 7 micro-dollars')
    expect(wrong.output).toContain('--repair')
    expect(wrong.code).toBe(1)
    expect((await run('audit-budgets.mjs', '--repair')).code).toBe(0)
    expect((await run('audit-budgets.mjs')).code).toBe(0)
    expect((await run('audit-budgets.mjs', '--all')).output).toContain('Usage: npm run')
  })
})

describe('npm run agents', () => {
  const agent = join(folder, 'tide-watcher')
  const write = (config: string) => {
    mkdirSync(agent, { recursive: true })
    writeFileSync(join(agent, 'config.yaml'), config)
    writeFileSync(join(agent, 'system-prompt.md'), 'You watch the tides.')
  }

  test('D2 D3: after a broken first push, which names no version before, a definition is loaded; a field that is not known is a warning', async () => {
    write('name: tide-watcher\nbehavior:\n  max_iterations: many\n')
    expect((await run('agents.mjs', 'push', agent)).output).toMatch(/^[\w-]+ is not loaded\.$/m)
    write('name: tide-watcher\ndescription: Watches.\nfavourite_moon: ours\n')
    const { code, output } = await run('agents.mjs', 'push', agent)
    expect(output).toContain('tide-watcher is loaded.')
    expect([code, output]).toEqual([0, expect.stringContaining('config.yaml:3:favourite_moon')])
  })

  test('D2, D5: a skill that agents share is read from a folder beside them', async () => {
    const shared = join(folder, 'skills', 'tides')
    mkdirSync(shared, { recursive: true })
    writeFileSync(
      join(shared, 'SKILL.md'),
      '---\nname: tides\ndescription: High water.\n---\nLook.',
    )
    write('name: tide-watcher\ncapabilities: { skills: [tides, ebb] }\n')
    const { code, output } = await run('agents.mjs', 'push', agent)
    expect(output).not.toContain('skills/tides/SKILL.md')
    expect(output).toContain('skills/ebb/SKILL.md does not exist')
    expect(code).toBe(0)
  })

  test('D3: a broken one names file, line and field, and the one before stays', async () => {
    write('name: tide-watcher\nbehavior:\n  max_iterations: many\n')
    const { code, output } = await run('agents.mjs', 'push', agent)
    expect(output).toContain('config.yaml:3:behavior.max_iterations')
    expect(output).toContain('the version before stays active')
    expect(code).toBe(1)
  })

  test('a push replaces no version that somebody else saved since; pull brings it back', async () => {
    write('name: tide-watcher\n')
    expect((await run('agents.mjs', 'push', agent)).code).toBe(0)
    const files = { 'config.yaml': 'name: tide-watcher\n# theirs\n', 'system-prompt.md': 'Other.' }
    const theirs = await fetch(`${hub.url}/api/v1/agents/tide-watcher/definition`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ files }),
    })
    expect(theirs.status).toBe(200)
    write('name: tide-watcher\n# mine\n')
    const refused = await run('agents.mjs', 'push', agent)
    expect(refused.output).toContain('- # theirs')
    expect(refused.output).toContain('--force')
    const unsafe = await run('agents.mjs', 'pull', 'tide-watcher', agent)
    expect(unsafe.output).toContain('has changes that are not on the hub')
    const fetched = join(folder, 'fetched')
    expect((await run('agents.mjs', 'pull', 'tide-watcher', fetched)).code).toBe(0)
    expect(readFileSync(join(fetched, 'config.yaml'), 'utf8')).toContain('# theirs')
    const merged = await run('agents.mjs', 'push', agent)
    expect([refused.code, unsafe.code, merged.code]).toEqual([1, 1, 0])
  })

  test('a folder that is not there, and words that are no command', async () => {
    const missing = await run('agents.mjs', 'push', join(folder, 'nobody'))
    expect(missing.output).toContain('There is no folder')
    const unknown = await run('agents.mjs', 'fetch', 'scout')
    expect(unknown.output).toContain('Usage: npm run agents -- push <folder>')
    expect([missing.code, unknown.code]).toEqual([1, 1])
  })
})

describe('rookery', () => {
  const config = join(folder, 'config', 'login.json')

  const rookery = (args: string[], { stdin = '', env = {} as Record<string, string> } = {}) =>
    runCommand(args, { ROOKERY_CONFIG: config, ROOKERY_URL: hub.url, ...env }, stdin)

  test('H2: login keeps hub and key in a file that only its owner reads, once the hub accepts the key', async () => {
    const wrong = await rookery(['login'], { stdin: 'rookery_wrong\n' })
    expect(wrong.code).toBe(4)
    expect(JSON.parse(wrong.stderr)).toMatchObject({ success: false, code: 'UNAUTHORIZED' })
    const without = await rookery(['runs'])
    expect(without.stderr).toContain('Run `rookery login`')
    expect(without.code).toBe(4)
    expect(() => statSync(config)).toThrow()

    const admin = new HubClient({ url: hub.url, key: hub.adminKey })
    const body = { name: 'mira', kind: 'human' as const }
    const { account: agent } = await admin.call('POST /accounts', { body })
    const { code, answer } = await rookery(['login'], { stdin: `${agent.api_key}\n` })
    expect(code).toBe(0)
    expect(answer()).toEqual({ hub: hub.url, account: 'mira', saved: config })
    expect(statSync(config).mode & 0o777).toBe(0o600)
    // the key is of this hub: another one does not get it
    const other = await rookery(['runs'], { env: { ROOKERY_URL: 'http://127.0.0.1:9' } })
    expect(other.stderr).toContain('There is no key for http://127.0.0.1:9')
  })

  test('a wrong command line is 2, and no hub is 3', async () => {
    for (const args of [[], ['dance'], ['post'], ['runs', '--colour'], ['agents', 'lend', 'x']]) {
      expect((await rookery(args)).code, args.join(' ')).toBe(2)
    }
    const env = { ROOKERY_URL: 'http://127.0.0.1:9', ROOKERY_KEY: 'rookery_x' }
    const { code, stderr } = await rookery(['usage'], { env })
    expect(JSON.parse(stderr).code).toBe('UNREACHABLE')
    expect(code).toBe(3)
  })

  test('D2: agents are pushed, pulled and compared', async () => {
    const asAdmin = { env: { ROOKERY_KEY: hub.adminKey } }
    const agent = join(folder, 'finch')
    const config = 'name: finch\ndescription: Finds things.\nbrain:\n  provider: offline\n'
    mkdirSync(agent)
    writeFileSync(join(agent, 'system-prompt.md'), 'You answer with links.')
    // only an admin says where requests go
    writeFileSync(join(agent, 'config.yaml'), `${config}  api_base: https://models.example\n`)
    expect((await rookery(['agents', 'push', agent])).code).toBe(4)
    writeFileSync(join(agent, 'config.yaml'), `${config}capabilities:\n  grants: [hub:read]\n`)
    expect((await rookery(['agents', 'push', agent], asAdmin)).answer()).toMatchObject({
      name: 'finch',
    })
    expect((await rookery(['agents', 'diff', agent], asAdmin)).code).toBe(0)
    writeFileSync(join(agent, 'system-prompt.md'), 'You answer in verse.')
    const differs = await rookery(['agents', 'diff', agent], asAdmin)
    expect(differs.answer().lines).toEqual([
      '--- system-prompt.md',
      '@@ line 1 @@',
      '-You answer with links.',
      '+You answer in verse.',
    ])
    expect(differs.code).toBe(7)
    const copy = join(folder, 'copy')
    expect((await rookery(['agents', 'pull', '@finch', copy], asAdmin)).code).toBe(0)
    expect(readdirSync(copy).sort()).toEqual(['config.yaml', 'system-prompt.md'])
    expect(readFileSync(join(copy, 'system-prompt.md'), 'utf8')).toBe('You answer with links.')
    const names = (await rookery(['agents', 'list']))
      .answer()
      .map((each: { name: string }) => each.name)
    expect(names).toContain('finch')
    const admin = new HubClient({ url: hub.url, key: hub.adminKey })
    const theirs = {
      ...(await admin.call('GET /agents/:name/definition', { params: { name: 'finch' } })).files,
    }
    const changed = { ...theirs, 'system-prompt.md': 'You answer in haiku.' }
    await admin.call('PUT /agents/:name/definition', {
      params: { name: 'finch' },
      body: { files: changed },
    })
    const refused = await rookery(['agents', 'push', agent], asAdmin)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('You answer in haiku.')
    const unsafe = await rookery(['agents', 'pull', 'finch', agent], asAdmin)
    expect([unsafe.code, unsafe.stderr]).toEqual([1, expect.stringContaining('--force')])
    const stranger = { env: { ...asAdmin.env, ROOKERY_CONFIG: join(folder, 'elsewhere.json') } }
    expect((await rookery(['agents', 'push', agent], stranger)).code).toBe(1)
    expect((await rookery(['agents', 'push', agent, '--force'], asAdmin)).code).toBe(0)
    writeFileSync(join(agent, 'system-prompt.md'), 'You answer with links.')
    expect((await rookery(['agents', 'push', agent], asAdmin)).code).toBe(0)
    writeFileSync(join(agent, 'config.yaml'), 'name: finch\nbehavior:\n  max_iterations: many\n')
    const broken = await rookery(['agents', 'push', agent], asAdmin)
    expect(JSON.parse(broken.stderr).details[0].path).toBe('config.yaml:3:behavior.max_iterations')
    expect(broken.code).toBe(1)
  })

  test('H16: a question is answered, its run is followed without a gap, and a link waits on', async () => {
    const text = 'The spring census counted 412 pelicans.'
    const { link } = (await rookery(['post', 'm/general', 'Census', '-'], { stdin: text })).answer()
    expect((await rookery(['reply', link, 'Well', 'counted.'])).answer().comment.content).toBe(
      'Well counted.',
    )

    const question = ['@finch', 'How many pelicans did the census count?']
    const asked = await rookery(['ask', ...question, '--in', 'general', '--wait'])
    expect(asked.code, asked.stderr).toBe(0)
    expect(asked.answer()).toMatchObject({ state: 'answered', account: { name: 'finch' } })
    expect(asked.answer().answer.content).toContain('412 pelicans')

    const run = asked.answer().activation_id
    const { code, lines } = await rookery(['tail', run])
    expect(code).toBe(0)
    const events = lines()
    const numbers = events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]))
    expect(numbers).toEqual(numbers.map((_, at) => at + 1))
    expect(events.at(-2)).toMatchObject({ type: 'response', outcome: 'completed' })
    expect(events.at(-1)).toMatchObject({ type: 'over' })

    const early = await rookery(['ask', '@admin', 'Are you there?', '-w', '--timeout', '0'])
    expect(early.answer()).toMatchObject({ state: 'waiting', account: { name: 'admin' } })
    expect(early.code).toBe(5)
    const { link: later } = (await rookery(['ask', ...question])).answer()
    expect((await rookery(['ask', later, '--wait'])).answer().state).toBe('answered')

    const [first] = (await rookery(['runs', '--agent', 'finch'])).answer()
    expect((await rookery(['runs', first.id])).answer().activation.id).toBe(first.id)
    expect((await rookery(['usage', '--by', 'model'])).answer().usage[0].calls).toBeGreaterThan(0)
  })

  test('H17: the script of docs/api.md asks and prints the answer, and its error is one of the hub', async () => {
    const page = readFileSync(join(root, 'docs/api.md'), 'utf8')
    const findBlock = (language: string) =>
      new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? ''
    const { key } = JSON.parse(readFileSync(config, 'utf8'))
    const script = join(folder, 'ask.mjs')
    writeFileSync(script, findBlock('js'))
    const env = { PATH: process.env.PATH, ROOKERY_URL: hub.url, ROOKERY_KEY: key }
    const ask = (...words: string[]) =>
      promisify(execFile)(process.execPath, [script, ...words], { env })
    const { stdout } = await ask('finch', 'How many pelicans are in the census?')
    expect(stdout).toContain('412 pelicans')
    await expect(ask('finch', 'x'.repeat(40_001))).rejects.toThrow(/VALIDATION: /)

    const missing = await fetch(`${hub.url}/api/v1/posts/none`)
    expect(await missing.json()).toEqual(JSON.parse(findBlock('json')))
  })

  test('H19: an export is an archive that the import knows', async () => {
    const archive = join(folder, 'export.json')
    const { key } = JSON.parse(readFileSync(config, 'utf8'))
    const client = new HubClient({ url: hub.url, key })
    const { media } = await client.call('POST /media', { body: new Blob([samples.png]) })
    const content = `![a plum](${media.url}) and ![none](/media/none-1x1)`
    await client.call('POST /posts', { body: { community: 'general', title: 'Plums', content } })
    const { answer, stderr } = await rookery(['export', archive])
    expect(answer(), stderr).toMatchObject({ file: archive, posts: expect.any(Number) })
    const records = JSON.parse(readFileSync(archive, 'utf8'))
    const [plums, census] = records
    expect(census.comments[0].content).toContain('412 pelicans')
    expect(census.images).toEqual([])
    const [image, ...others] = plums.images
    expect(others).toEqual([])
    expect(image).toMatchObject({ url: media.url, type: 'image/png' })
    const stored = await fetch(`${hub.url}${media.url}`)
    expect(image.data).toBe(Buffer.from(await stored.arrayBuffer()).toString('base64'))
    const { output } = await run('import.mjs', archive, '--source', 'this-hub')
    expect(output).toContain(`Imported ${records.length} posts`)
    expect(output).not.toContain('Skipped')
    const again = await run('import.mjs', archive, '--source', 'this-hub')
    expect(again.output).toContain('Imported 0 posts, 0 comments')
  })

  test('H4: a text that mentions nobody there is is posted, and the answer names whom it meant', async () => {
    const notWoken = [
      { name: 'finsh', reason: 'There is no account named finsh. Did you mean @finch?' },
    ]
    const asked = await rookery(['ask', '@finsh', 'How many?', '--in', 'general'])
    expect(asked.answer()).toMatchObject({ state: 'waiting', not_woken: notWoken })
    const { link } = asked.answer()
    expect((await rookery(['reply', link, '@finsh', 'again'])).answer().not_woken).toEqual(notWoken)
    expect((await rookery(['reply', link, 'well'])).answer().not_woken).toEqual([])
  })
})
