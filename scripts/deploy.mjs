// `npm run deploy`: the whole hub on Cloudflare, from nothing or from the version before. Every step can be
// done again, so an interrupted deployment is finished by the next one.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { chooseHubKeys, isPrivateTerminal, KeptKeys } from './deploy/hub-keys.mjs'
import { configName, describePlan, makePlan, toDeployedConfig } from './deploy/plan.mjs'
import { connectPlatform, emptyPlatform, NotSignedInError } from './deploy/platform.mjs'
import { runWrangler } from './deploy/run-wrangler.mjs'
import { findStateDir, PlainError, root } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

const usage =
  'Usage: npm run deploy [-- [--dry-run | --yes] [--jurisdiction eu|us|fedramp] [--ai | --no-ai]]'
const healthWaitMs = 90_000
const healthPauseMs = 1000
/** Cloudflare's builds are started in its dashboard or by a push, and have nobody to ask. */
const isCloudflareBuild = process.env.WORKERS_CI === '1'
/** Ctrl-C, and the ends of a job and of a terminal. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

await runCli(async () => {
  const { isDryRun, isAccepted, jurisdiction, wantsAi } = readFlags()
  const platform = await connectPlatform(process.env).catch((error) => {
    if (isDryRun && error instanceof NotSignedInError) return emptyPlatform
    throw error
  })
  // else wrangler chooses an account again, perhaps another one that it remembers
  process.env.CLOUDFLARE_ACCOUNT_ID = platform.account.id
  const plan = await makePlan(platform, process.env, jurisdiction, wantsAi)
  const isFirst = plan.storedSecrets === null
  if (isFirst && wantsAi === undefined && !isDryRun && !isAccepted && process.stdin.isTTY) {
    plan.hasAi = await ask(
      'Bind Workers AI? Agents then have models without a key, billed to this account.',
    )
  }
  const kept = new KeptKeys(findStateDir(process.env), platform.account.id, plan.config.worker)
  const keys = chooseHubKeys(process.env, plan.storedSecrets ?? [], kept.read())
  const steps = describePlan(plan, keys.secrets)
  console.log(
    platform === emptyPlatform
      ? 'Account: you are not signed in to Cloudflare. In an account that has no hub yet:'
      : `Account: ${platform.account.name} (${platform.account.id})`,
  )
  for (const [at, { text }] of steps.entries()) console.log(`  ${at + 1}. ${text}`)
  if (isDryRun) return console.log('Nothing was changed (--dry-run).')
  if (isCloudflareBuild && Object.keys(keys.made).length > 0) {
    throw new PlainError(
      'Keys that this build made would be lost with its disk. Set ROOKERY_ADMIN_KEY and ROOKERY_VAULT_KEY (`openssl rand -base64 32`) as secrets of the Worker or variables of the build. Nothing was changed.',
    )
  }
  if (steps.some(({ isNew }) => isNew) && !isAccepted && !(await ask('Create these?'))) {
    throw new PlainError('Nothing was changed.')
  }
  kept.write(keys.made)
  const databaseId =
    plan.databaseId ?? (await platform.createDatabase(plan.config.database, plan.jurisdiction))
  if (!plan.hasBucket) await platform.createBucket(plan.config.bucket, plan.jurisdiction)
  writeFileSync(join(root, configName), toDeployedConfig(plan, databaseId))
  if (plan.migrations.length > 0) await migrate()
  const targets = await upload({ ...plan.settings, ...keys.secrets })
  const areCurrent = await introduce(plan, keys, targets)
  if (areCurrent) showKeys(keys.made, kept)
  else console.log('  The keys that an interrupted deployment left were replaced since: deleted.')
  kept.delete()
})

/**
 * @param {Record<string, string>} made
 * @param {KeptKeys} kept
 */
function showKeys(made, kept) {
  const names = Object.keys(made)
  if (names.length === 0) return
  if (!isPrivateTerminal(process.env, process.stdout)) {
    return console.log(
      `  ${names.join(' and ')}: in ${kept.handOver(made)}, which only this user can read. Keys are printed on a terminal only. Keep them: nobody can read them back.`,
    )
  }
  for (const [name, key] of Object.entries(made)) console.log(`  ${name}=${key}`)
  console.log('  Keep these keys: they are not shown again, and nobody can read them back.')
}

function readFlags() {
  try {
    const { values } = parseArgs({
      options: {
        'dry-run': { type: 'boolean' },
        yes: { type: 'boolean' },
        jurisdiction: { type: 'string' },
        ai: { type: 'boolean' },
        'no-ai': { type: 'boolean' },
      },
    })
    const { 'dry-run': isDryRun = false, yes: isAccepted = false, jurisdiction } = values
    const wantsAi = values['no-ai'] ? false : values.ai
    return { isDryRun, isAccepted: isAccepted || isCloudflareBuild, jurisdiction, wantsAi }
  } catch {
    throw new PlainError(usage)
  }
}

/**
 * @param {string} question
 * @returns {Promise<boolean>} false when there is nobody to answer
 */
async function ask(question) {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const ended = new Promise((resolve) => terminal.once('close', () => resolve('')))
  const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended])
  terminal.close()
  return /^y(es)?$/i.test(String(answer).trim())
}

/** Migrates before the upload: every migration leaves a schema that the version before can use. */
async function migrate() {
  const args = ['d1', 'migrations', 'apply', 'DB', '--remote', '-c', configName]
  const { code, output } = await runWrangler(args, process.env)
  if (code === 0) return console.log('The database is migrated.')
  throw new PlainError(
    `${output.trim()}\nA migration failed. The version before continues to run, and nothing was uploaded. Run \`npm run deploy\` again when the reason above is gone.`,
  )
}

/**
 * Uploads the Worker and its secrets as one version.
 * @param {Record<string, string>} secrets
 * @returns {Promise<string[]>} where it answers: host names and schedules
 */
async function upload(secrets) {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-deploy-'))
  const secretsFile = join(folder, 'secrets.json')
  const outputFile = join(folder, 'output.ndjson')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const stop = () => {
    remove()
    process.exit(1)
  }
  for (const signal of stopSignals) process.once(signal, stop)
  try {
    writeFileSync(secretsFile, JSON.stringify(secrets), { mode: 0o600 })
    const args = ['deploy', '-c', configName]
    if (Object.keys(secrets).length > 0) args.push('--secrets-file', secretsFile)
    const env = { ...process.env, WRANGLER_OUTPUT_FILE_PATH: outputFile }
    const { code, output } = await runWrangler(args, env)
    if (code !== 0) {
      throw new PlainError(
        `${output.trim()}\nThe upload did not finish. The database is migrated; the version before can use it. Run \`npm run deploy\` again when the reason above is gone.`,
      )
    }
    console.log('The Worker is uploaded.')
    const lines = readFileSync(outputFile, 'utf8').trim().split('\n')
    const deployed = lines.map((line) => JSON.parse(line)).find(({ type }) => type === 'deploy')
    return deployed?.targets ?? []
  } finally {
    remove()
    for (const signal of stopSignals) process.off(signal, stop)
  }
}

/**
 * Waits for the hub, loads the agents and prints a sign-in link.
 * @param {import('./deploy/plan.mjs').Plan} plan
 * @param {import('./deploy/hub-keys.mjs').HubKeys} keys
 * @param {string[]} targets
 * @returns {Promise<boolean>} false: the hub refuses the admin key that an interrupted deployment left
 */
async function introduce(plan, { adminKey, secrets }, targets) {
  const origin = plan.settings.ROOKERY_ORIGIN?.split(',')[0]?.trim().replace(/\/$/, '')
  const isElsewhere = origin === undefined && plan.storedSecrets?.includes('ROOKERY_ORIGIN')
  const name = targets
    .map((each) => each.replace('https://', ''))
    .find((each) => /\.workers\.dev$/.test(each))
  const url = origin ?? (name && `https://${name}`)
  if (url === undefined || isElsewhere) {
    console.log('Set ROOKERY_ORIGIN to load agents/ and get a sign-in link.')
    return true
  }
  await waitForHealth(url)
  console.log(`\n  Rookery    ${url}`)
  const { HubClient, HubError } = await import('../client/index.ts')
  const client = adminKey === null ? null : new HubClient({ url, key: adminKey })
  // a key that this upload stored is right, and may not be known everywhere yet
  const isLeft = client !== null && secrets.ROOKERY_ADMIN_KEY === undefined
  const isRefused =
    isLeft &&
    (await client.call('GET /me').then(
      () => false,
      (error) => error instanceof HubError && error.status === 401,
    ))
  if (client === null || isRefused) {
    console.log('  Set ROOKERY_ADMIN_KEY to load agents/ and get a sign-in link.')
    return !isRefused
  }
  const { seedAgents } = await import('./seed-agents.mjs')
  const { loaded } = await seedAgents(client, url)
  console.log(`  Sign in    ${await describeSignIn(client, url)}
  Agents     ${loaded.join(', ')}`)
  return true
}

/**
 * A link makes whoever reads it an admin, so it is printed on a terminal only.
 * @param {import('../client/index.ts').HubClient} client
 * @param {string} url
 */
async function describeSignIn(client, url) {
  if (!isPrivateTerminal(process.env, process.stdout)) return `${url}/login, with ROOKERY_ADMIN_KEY`
  const { demand } = await import('./hub-client.mjs')
  const { url: link } = await demand(client.call('POST /sessions/link', { body: {} }))
  const { pathname, search } = new URL(link, url)
  return `${url}${pathname}${search}\n             (as admin; works once, within a day)`
}

/**
 * A new name on workers.dev takes up to a minute until it answers.
 * @param {string} url
 */
async function waitForHealth(url) {
  const deadline = Date.now() + healthWaitMs
  for (;;) {
    const response = await fetch(`${url}/healthz`).catch(() => null)
    if (response?.ok) return
    if (Date.now() > deadline) {
      const seen = response === null ? 'no answer' : `status ${response.status}`
      throw new PlainError(
        `The Worker is uploaded, but ${url}/healthz gives ${seen}. Look at \`npx wrangler tail\`, then run \`npm run deploy\` again.`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, healthPauseMs))
  }
}
