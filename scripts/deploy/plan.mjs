// What a deployment is going to do: compares the checkout with what the account has, and says it in words.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { settingsSchema } from '../../src/shared/settings.ts'
import { PlainError, root } from '../local-state.mjs'
import { readNamedKeys } from '../seed-agents.mjs'

/** The generated configuration, beside the tracked one, because its paths are relative. */
export const configName = 'wrangler.deploy.json'
const placeholderId = '00000000-0000-0000-0000-000000000000'
/** Given by `wrangler.toml`; a secret of the same name would be refused. */
const tracked = 'ROOKERY_CLIENT_ADDRESS_HEADER'
/** The variable of a Worker that names where its data stays; no setting, because changing it would lose the data. */
const jurisdictionName = 'ROOKERY_JURISDICTION'
const jurisdictions = ['eu', 'us', 'fedramp']
const keyNames = ['ROOKERY_ADMIN_KEY', 'ROOKERY_VAULT_KEY']

/** @typedef {{ worker: string, database: string, databaseId: string, bucket: string, raw: import('wrangler').Unstable_RawConfig }} Config */

/**
 * @typedef {object} Plan
 * @property {Config} config
 * @property {string | null} jurisdiction where the data stays; null: anywhere
 * @property {string | null} databaseId null: to be created
 * @property {boolean} hasBucket
 * @property {boolean} hasAi whether Workers AI is to be bound
 * @property {boolean} hadAi whether it is bound
 * @property {string[]} migrations to be applied
 * @property {string[] | null} storedSecrets null: there is no such Worker
 * @property {Record<string, string>} settings from the environment, to be stored as secrets
 */

/** @returns {Config} */
function readConfig() {
  const raw = readRawConfig()
  const database = raw.d1_databases?.find(isDatabase)
  const bucket = raw.r2_buckets?.find(isBucket)
  if (!raw.name || !database?.database_name || !bucket?.bucket_name) {
    throw new PlainError(
      'wrangler.toml has no name, database DB or bucket FILES. Restore the file.',
    )
  }
  return {
    worker: raw.name,
    database: database.database_name,
    databaseId: database.database_id ?? placeholderId,
    bucket: bucket.bucket_name,
    raw,
  }
}

/** @typedef {{ binding: string }} Bound */
const isDatabase = (/** @type {Bound} */ { binding }) => binding === 'DB'
const isBucket = (/** @type {Bound} */ { binding }) => binding === 'FILES'

/** @returns {Config['raw']} */
function readRawConfig() {
  try {
    return /** @type {Config['raw']} */ (parse(readFileSync(join(root, 'wrangler.toml'), 'utf8')))
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    const place = error instanceof TomlError ? `line ${error.line}: ` : ''
    throw new PlainError(
      `wrangler.toml cannot be read: ${place}${message.trim()}. Correct it, or restore the file. Nothing was changed.`,
    )
  }
}

/**
 * Returns the configuration with the account's database, in JSON.
 * @param {Pick<Plan, 'config' | 'jurisdiction' | 'hasAi'>} plan
 * @param {string} databaseId
 */
export function toDeployedConfig({ config: { raw }, jurisdiction, hasAi }, databaseId) {
  const place = jurisdiction === null ? {} : { jurisdiction }
  const variable = jurisdiction === null ? {} : { [jurisdictionName]: jurisdiction }
  const deployed = {
    ...raw,
    ...(hasAi && { ai: { binding: 'AI' } }),
    vars: { ...raw.vars, ...variable },
    d1_databases: raw.d1_databases?.map((each) =>
      isDatabase(each) ? { ...each, database_id: databaseId } : each,
    ),
    r2_buckets: raw.r2_buckets?.map((each) => (isBucket(each) ? { ...each, ...place } : each)),
  }
  return `${JSON.stringify(deployed, null, 2)}\n`
}

/**
 * Where the data stays: as the Worker was deployed, else as the database of an interrupted deployment was created, else
 * as it is wanted. It is chosen once, because objects and buckets of another jurisdiction are others, without the data.
 * @param {string | undefined} wanted
 * @param {Record<string, string> | null} variables of the Worker
 * @param {{ jurisdiction: string | null } | null} database
 * @returns {string | null}
 */
function chooseJurisdiction(wanted, variables, database) {
  if (wanted !== undefined && !jurisdictions.includes(wanted)) {
    throw new PlainError(`--jurisdiction has to be one of ${jurisdictions.join(', ')}.`)
  }
  const isChosen = variables !== null || database !== null
  const chosen = variables
    ? (variables[jurisdictionName] ?? null)
    : (database?.jurisdiction ?? null)
  if (!isChosen) return wanted ?? null
  if (wanted === undefined || wanted === chosen) return chosen
  throw new PlainError(
    `The hub was created ${chosen === null ? 'without a jurisdiction' : `in the jurisdiction ${chosen}`}, which cannot be changed. To move it, write a backup, and restore it into a hub that you deploy with --jurisdiction ${wanted} in another account or under another name. Nothing was changed.`,
  )
}

/**
 * @param {import('./platform.mjs').Platform} platform
 * @param {Record<string, string | undefined>} env
 * @param {string | undefined} [wantedJurisdiction]
 * @param {boolean | undefined} [wantsAi] whether Workers AI is to be bound; undefined: as it is
 * @returns {Promise<Plan>}
 */
export async function makePlan(platform, env, wantedJurisdiction, wantsAi) {
  const config = readConfig()
  const settings = readSettingsToStore(env)
  const [database, deployed, storedSecrets] = await Promise.all([
    platform.findDatabase(config.database),
    platform.readSettings(config.worker),
    platform.listSecrets(config.worker),
  ])
  // Cloudflare's button creates the database and writes its id into the copy of the repository that it makes.
  if (config.databaseId !== placeholderId && config.databaseId !== database?.id) {
    throw new PlainError(
      `wrangler.toml names the database ${config.databaseId}, which is not the account's ${config.database}. Write ${placeholderId} as its database_id: \`npm run deploy\` finds or creates the database by its name. Nothing was changed.`,
    )
  }
  const jurisdiction = chooseJurisdiction(wantedJurisdiction, deployed?.variables ?? null, database)
  const hasBucket = await platform.hasBucket(config.bucket, jurisdiction)
  const databaseId = database?.id ?? null
  const applied = databaseId === null ? [] : await platform.listMigrations(databaseId)
  const known = readdirSync(join(root, 'migrations'))
    .filter((name) => name.endsWith('.sql'))
    .sort()
  const unknown = applied.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new PlainError(
      `The database ${config.database} has migration ${unknown}, which this version does not know: a newer version was deployed. Nothing was changed. Deploy that version or a later one.`,
    )
  }
  const migrations = known.filter((name) => !applied.includes(name))
  const hadAi = deployed?.hasAi ?? false
  const ai = { hasAi: wantsAi ?? hadAi, hadAi }
  return { config, jurisdiction, databaseId, hasBucket, migrations, storedSecrets, settings, ...ai }
}

/**
 * Settings, keys that definitions name, and secrets for services outside; but no key of the hub itself.
 * @param {Record<string, string | undefined>} env
 */
function readSettingsToStore(env) {
  const settings = readNamedKeys(env)
  for (const name of Object.keys(settingsSchema.shape)) {
    const value = env[name]
    if (value && name !== tracked && !keyNames.includes(name)) settings[name] = value
  }
  const parsed = settingsSchema.safeParse(settings)
  const issue = parsed.error?.issues[0]
  if (issue) throw new PlainError(`${issue.path.join('.')}: ${issue.message}`)
  return settings
}

/**
 * @param {Plan} plan
 * @param {Record<string, string>} keys the hub's own keys that are stored too
 * @returns {{ text: string, isNew: boolean }[]} a line each; `isNew`: it creates something
 */
export function describePlan(plan, keys) {
  const { config, jurisdiction, databaseId, hasBucket, migrations } = plan
  const place = jurisdiction === null ? '' : ` in the jurisdiction ${jurisdiction}`
  const stored = plan.storedSecrets ?? []
  const names = [...Object.keys(keys), ...Object.keys(plan.settings)].sort()
  const added = names.filter((name) => !stored.includes(name))
  const replaced = names.filter((name) => stored.includes(name))
  const count = migrations.length
  const range = count > 1 ? `${migrations[0]} to ${migrations.at(-1)}` : migrations[0]
  return [
    databaseId === null
      ? { text: `Create the D1 database ${config.database}${place}`, isNew: true }
      : { text: `Use the D1 database ${config.database} (${databaseId})`, isNew: false },
    hasBucket
      ? { text: `Use the R2 bucket ${config.bucket}`, isNew: false }
      : { text: `Create the R2 bucket ${config.bucket}${place}`, isNew: true },
    { text: `Write ${configName}, with the id of the database`, isNew: false },
    count === 0
      ? { text: 'Apply no migration: the database is up to date', isNew: false }
      : { text: `Apply ${count} migration${count > 1 ? 's' : ''}: ${range}`, isNew: false },
    plan.storedSecrets === null
      ? {
          text: `Create and upload the Worker ${config.worker}${place && `, with objects${place}`}`,
          isNew: true,
        }
      : { text: `Upload the Worker ${config.worker}`, isNew: false },
    ...describeAi(plan),
    ...(added.length > 0 ? [{ text: `Add secrets: ${added.join(', ')}`, isNew: true }] : []),
    ...(replaced.length > 0
      ? [{ text: `Replace secrets: ${replaced.join(', ')}`, isNew: false }]
      : []),
    {
      text: 'Load agents/ and create a sign-in link, when the admin key is known',
      isNew: false,
    },
  ]
}

/** @param {Pick<Plan, 'hasAi' | 'hadAi'>} plan */
function describeAi({ hasAi, hadAi }) {
  if (hasAi && !hadAi) {
    return [{ text: 'Bind Workers AI: models without a key, billed to this account', isNew: true }]
  }
  return hasAi === hadAi ? [] : [{ text: 'Remove the binding of Workers AI', isNew: false }]
}
