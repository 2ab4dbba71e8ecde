import { spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWorker } from '../../../scripts/build-worker.mjs'
import type { Hub } from '../../../scripts/hub-runtime.mjs'
import { root } from '../../../scripts/local-state.mjs'
import { openLine } from '../coding/coding-hub.ts'
import { startHub } from '../start-hub.ts'
import { Refusal } from './fake-d1'
import { databaseId, FakePlatform } from './fake-platform'
import { findDeviations } from './published-api'

const folder = mkdtempSync(join(tmpdir(), 'rookery-deploy-test-'))
const clone = join(folder, 'clone')
const stateDir = join(folder, 'state')
const temporary = join(folder, 'tmp')
const platform = new FakePlatform()
const placeholder = '00000000-0000-0000-0000-000000000000'
const creations = [
  'POST /accounts/:account/d1/database',
  'POST /accounts/:account/r2/buckets',
  'PUT /accounts/:account/workers/scripts/rookery',
]
let env: Record<string, string> = {}
let hub: Hub | undefined
/** The address that is deployed to, where a hub answers once one was uploaded. */
let line: Awaited<ReturnType<typeof openLine>>

beforeAll(async () => {
  for (const each of [clone, temporary]) mkdirSync(each)
  for (const name of ['agents', 'client', 'docs', 'migrations', 'scripts', 'src']) {
    cpSync(join(root, name), join(clone, name), { recursive: true })
  }
  for (const name of ['package.json', 'tsconfig.json', 'wrangler.toml']) {
    cpSync(join(root, name), join(clone, name))
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'))
  useWorker(false)
  line = await openLine(() => Number(new URL(hub?.url ?? 'http://127.0.0.1:9').port))
  env = {
    PATH: dirname(process.execPath),
    HOME: folder,
    // Wrangler is loaded thirty times.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    TMPDIR: temporary,
    ROOKERY_STATE_DIR: stateDir,
    ROOKERY_ORIGIN: line.url,
    ...(await platform.start()),
  }
})

afterAll(async () => {
  line.close()
  await hub?.stop()
  platform.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts `npm run deploy` in the clone, in a process group of its own. */
function start(args: string[] = [], answer = '', more: Record<string, string> = {}) {
  const child = spawn(process.execPath, [join(clone, 'scripts/deploy.mjs'), ...args], {
    env: { ...env, ...more },
    detached: true,
  })
  child.stdin.end(answer)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const ended = new Promise<{ code: number | null; output: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, output })),
  )
  /** As Ctrl-C in a terminal does. */
  const interrupt = () => child.pid !== undefined && process.kill(-child.pid, 'SIGINT')
  return { ended, interrupt }
}

const deploy = (...args: Parameters<typeof start>) => start(...args).ended

const listApplied = () =>
  platform.database
    ?.prepare('SELECT name FROM d1_migrations ORDER BY id')
    .all()
    .map((row) => row.name)

const listMigrations = () =>
  readdirSync(join(clone, 'migrations'))
    .filter((name) => name.endsWith('.sql'))
    .sort()

/** The hub as the Worker, or its classes without anything in them: to bundle the hub takes seconds of a processor. */
function useWorker(isHub: boolean): void {
  const path = join(clone, 'src/worker.ts')
  if (isHub) {
    cpSync(join(root, 'src/worker.ts'), path)
    return
  }
  const config = readFileSync(join(clone, 'wrangler.toml'), 'utf8')
  const names = new Set([...config.matchAll(/^class_name = "(\w+)"/gm)].map(([, name]) => name))
  const classes = [...names].map((name) => `export class ${name} extends DurableObject {}`)
  const worker = [
    "import { DurableObject } from 'cloudflare:workers'",
    ...classes,
    "export default { fetch: () => new Response('small') }",
  ]
  writeFileSync(path, worker.join('\n'))
}

/** Runs the very modules that were uploaded, with the secrets that were uploaded. */
async function runUpload(modules: Record<string, string>): Promise<void> {
  const bundlePath = join(folder, 'uploaded')
  mkdirSync(join(bundlePath, 'worker'), { recursive: true })
  for (const [name, text] of Object.entries(modules)) {
    writeFileSync(join(bundlePath, 'worker', name), text)
  }
  cpSync(join(await buildWorker(), 'local.json'), join(bundlePath, 'local.json'))
  hub = await startHub({ stateDir: join(folder, 'hub'), bundlePath, env: platform.secrets })
}

test('a deployment without permission changes nothing and says which permissions it needs', async () => {
  platform.isAllowed = false
  const { code, output } = await deploy(['--yes'])
  platform.isAllowed = true
  expect(output).toMatch(/Authentication error.*D1: Edit/)
  expect(code).toBe(1)
  expect(platform.writes).toEqual([])
})

test('--dry-run lists every step, and neither it nor a no changes anything', async () => {
  const wrong = await deploy(['--dry-run', '--jurisdiction', 'mars'])
  expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('one of eu, us, fedramp')])
  const dry = await deploy(['--dry-run'])
  expect(dry.code).toBe(0)
  expect(dry.output).not.toContain('jurisdiction')
  for (const step of [
    'D1 database',
    'R2 bucket',
    `Apply ${listMigrations().length} migration`,
    'Worker',
  ]) {
    expect(dry.output).toContain(step)
  }
  expect(dry.output).toMatch(/Add secrets: ROOKERY_ADMIN_KEY, ROOKERY_ORIGIN, ROOKERY_VAULT_KEY/)
  for (const answer of ['n\n', '']) expect((await deploy([], answer)).code).toBe(1)
  expect(platform.writes).toEqual([])
  expect(existsSync(stateDir)).toBe(false)
  expect(existsSync(join(clone, 'wrangler.deploy.json'))).toBe(false)
})

test('--dry-run lists the steps from nothing without an account, which a deployment needs', async () => {
  const nobody = { CLOUDFLARE_API_TOKEN: '' }
  const dry = await deploy(['--dry-run'], '', nobody)
  for (const step of ['Create the D1 database', 'Create the R2 bucket', 'Nothing was changed']) {
    expect(dry.output).toContain(step)
  }
  expect(dry.code).toBe(0)
  const real = await deploy(['--yes'], '', nobody)
  expect([real.code, real.output]).toEqual([1, expect.stringContaining('You are not signed in')])
  expect([platform.writes, existsSync(stateDir)]).toEqual([[], false])
})

test('a build of Cloudflare makes no keys, which would be lost with its disk', async () => {
  const { code, output } = await deploy([], '', { WORKERS_CI: '1' })
  expect(output).toMatch(/Set ROOKERY_ADMIN_KEY and ROOKERY_VAULT_KEY .*Nothing was changed/)
  expect([code, platform.writes]).toEqual([1, []])
})

test('a deployment that was refused, then interrupted, is finished by the next one', async () => {
  platform.refuseUpload = () => {
    throw new Refusal(400, 10021, 'Script startup exceeded CPU time limit.')
  }
  const refused = await deploy(['--jurisdiction', 'eu'], 'y\n')
  platform.refuseUpload = null
  expect(refused.output).toMatch(/10021[\s\S]*The upload did not finish/)
  expect(refused.code).toBe(1)
  expect(listApplied()).toEqual(listMigrations())

  // It is chosen once: the next ones keep it, and no other is taken.
  expect([platform.databasePlace, platform.bucketPlace]).toEqual(['eu', 'eu'])
  const moved = await deploy(['--yes', '--jurisdiction', 'us'])
  expect([moved.code, moved.output]).toEqual([1, expect.stringContaining('cannot be changed')])

  const accepted = new Promise<void>((resolve) => {
    platform.onUpload = () => {
      resolve()
      return new Promise(() => {})
    }
  })
  const interrupted = start(['--yes'])
  await accepted
  interrupted.interrupt()
  await interrupted.ended
  const left = readdirSync(temporary).filter((name) => name.startsWith('rookery-deploy-'))
  expect(left, 'the secrets on their way').toEqual([])
  const { ROOKERY_ADMIN_KEY: adminKey = '', ROOKERY_VAULT_KEY: vaultKey = '' } = platform.secrets

  useWorker(true)
  platform.onUpload = ({ modules }) => runUpload(modules)
  const { code, output } = await deploy(['--yes'])
  // nobody but this user reads the keys: the output of CI is a log
  const file = join(stateDir, `keys-${'a'.repeat(8)}-rookery.env`)
  expect(output).toContain(`ROOKERY_ADMIN_KEY and ROOKERY_VAULT_KEY: in ${file},`)
  for (const secret of [adminKey, vaultKey, 'token=']) expect(output).not.toContain(secret)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).toBe(
    `ROOKERY_ADMIN_KEY=${adminKey}\nROOKERY_VAULT_KEY=${vaultKey}\n`,
  )
  expect(output).toMatch(/Agents {5}archivist, scout/)
  expect(code).toBe(0)
  const login = /Sign in +([^\s,]+)/.exec(output)?.[1] ?? ''
  expect(login).toMatch(/\/login$/)
  expect((await fetch(login)).status).toBe(200)
  expect(platform.crons).toEqual(['* * * * *'])
  expect(platform.isOnSubdomain).toBe(true)
  // the guides, which the script does not hold
  expect(platform.assets).toContain('/conversation.md')
  expect((await fetch(`${line.url}/docs/guides/conversation`)).status).toBe(200)
  expect(platform.requests).toContainEqual({
    operation: 'PATCH /accounts/:account/workers/scripts/rookery/script-settings',
    parameters: expect.objectContaining({
      observability: expect.objectContaining({ enabled: true }),
    }),
  })
  expect(platform.uploads.at(-1)?.metadata).toMatchObject({
    compatibility_flags: ['nodejs_compat', 'global_fetch_strictly_public'],
    placement: { mode: 'smart' },
  })
  expect(platform.uploads.at(-1)?.metadata.bindings).toContainEqual(
    expect.objectContaining({ name: 'DB', type: 'd1', id: databaseId }),
  )
  const places = platform.uploads.at(-1)?.metadata.bindings ?? []
  expect(places).toContainEqual(
    expect.objectContaining({ type: 'plain_text', name: 'ROOKERY_JURISDICTION', text: 'eu' }),
  )
  expect(places).toContainEqual(
    expect.objectContaining({ type: 'r2_bucket', name: 'FILES', jurisdiction: 'eu' }),
  )
  expect(platform.surprises).toEqual([])
  for (const creation of creations) {
    const count = platform.writes.filter((write) => write === creation).length
    // a refused upload was one, too
    expect(count, creation).toBe(creation.startsWith('PUT') ? 2 : 1)
  }
  expect(readdirSync(stateDir).sort()).toEqual([basename(file), 'pushed.json'])
  useWorker(false)
})

test('a build of Cloudflare deploys to the database that its button created', async () => {
  const file = join(clone, 'wrangler.toml')
  const tracked = readFileSync(file, 'utf8')
  // as somebody's editor leaves it
  const name = (id: string) =>
    tracked.replace(`"${placeholder}"`, `'${id}' # ours`).replaceAll('\n', '\r\n')
  platform.onUpload = () => undefined
  platform.writes.length = 0

  const refusals = {
    'wrangler.toml cannot be read: line': `${tracked}[d1`,
    "not the account's rookery": name('33333333-3333-4333-8333-333333333333'),
  }
  for (const [reason, config] of Object.entries(refusals)) {
    writeFileSync(file, config)
    const { code, output } = await deploy([], '', { WORKERS_CI: '1' })
    expect([code, output, platform.writes]).toEqual([1, expect.stringContaining(reason), []])
  }

  writeFileSync(file, name(databaseId))
  // a new secret, about which a person is asked
  const { code, output } = await deploy([], '', { WORKERS_CI: '1', ROOKERY_PUBLIC: 'true' })
  expect(output).toContain('Add secrets: ROOKERY_PUBLIC')
  expect(code).toBe(0)
  expect(platform.secrets.ROOKERY_PUBLIC).toBe('true')
  expect(platform.writes.filter((write) => creations.includes(write))).toEqual([])
  writeFileSync(file, tracked)
})

test('Workers AI is bound when it is asked for, stays bound, and is removed when that is asked for', async () => {
  const listAi = () =>
    platform.uploads.at(-1)?.metadata.bindings?.filter(({ type }) => type === 'ai') ?? []
  const deployments: [string[], string, number][] = [
    [['--ai'], 'Bind Workers AI: models without a key, billed to this account', 1],
    [[], 'Use the R2 bucket', 1],
    [['--no-ai'], 'Remove the binding of Workers AI', 0],
  ]
  expect(listAi()).toEqual([])
  for (const [flags, step, count] of deployments) {
    const { code, output } = await deploy(['--yes', ...flags])
    expect([code, output, listAi().length]).toEqual([0, expect.stringContaining(step), count])
  }
  expect(platform.surprises).toEqual([])
})

test('a later deployment applies what was added, creates nothing and shows no key', async () => {
  const added = '9999_added.sql'
  writeFileSync(join(clone, 'migrations', added), 'CREATE TABLE added_later (id TEXT);\n')
  platform.writes.length = 0
  const before = { ...platform.secrets }
  // this machine was interrupted before another one deployed
  const left = join(stateDir, `deploying-${'a'.repeat(8)}-rookery.json`)
  const stale = { ROOKERY_ADMIN_KEY: 'stale-admin-key', ROOKERY_VAULT_KEY: 'stale-vault-key' }
  writeFileSync(left, JSON.stringify(stale))
  const { code, output } = await deploy([], '', {
    ROOKERY_VAULT_KEY: Buffer.alloc(32).toString('base64'),
  })
  expect(output).toContain(`Apply 1 migration: ${added}`)
  expect(output).toContain('Set ROOKERY_ADMIN_KEY to load agents/')
  expect(code).toBe(0)
  expect(output).not.toContain(before.ROOKERY_ADMIN_KEY)
  expect(output).not.toContain('stale')
  expect(existsSync(left)).toBe(false)
  expect(listApplied()).toEqual(listMigrations())
  expect(platform.writes.filter((write) => creations.includes(write))).toEqual([])
  expect(platform.secrets).toEqual(before)
  expect(platform.surprises).toEqual([])
  expect(readFileSync(join(clone, 'wrangler.toml'), 'utf8')).toBe(
    readFileSync(join(root, 'wrangler.toml'), 'utf8'),
  )

  rmSync(join(clone, 'migrations', added))
  const moved = await deploy(['--yes', '--jurisdiction', 'us'])
  expect([moved.code, moved.output]).toEqual([1, expect.stringContaining('jurisdiction eu')])
  const older = await deploy(['--yes'])
  expect(older.output).toContain('a newer version was deployed')
  expect(older.code).toBe(1)
})

test('every request has the shape that Cloudflare publishes', () => {
  const operations = platform.requests.map(({ operation }) => operation)
  // the first upload, and a later one
  expect(operations).toContain('PUT /accounts/:account/workers/scripts/rookery')
  expect(operations).toContain('POST /accounts/:account/workers/scripts/rookery/versions')
  const operation = 'POST /accounts/:account/r2/buckets'
  const wrong = { account_id: 'a', name: 'rookery-files', color: 'green' }
  expect(findDeviations([...platform.requests, { operation, parameters: wrong }])).toEqual([
    expect.stringMatching(/^POST \/accounts\/:account\/r2\/buckets: .*"color"' does not exist/),
  ])
})
