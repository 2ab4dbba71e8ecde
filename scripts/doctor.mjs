// `npm run doctor`: checks settings, keys, disk, versions, and the hub that runs, and says what to do.
import { checkHub } from './doctor/check-hub.mjs'
import { checkDisk, checkKeys, checkSettings, checkVersions } from './doctor/check-machine.mjs'
import { fail, warn } from './doctor/finding.mjs'
import { connect } from './hub-client.mjs'
import { findAdminKey, findRunningHub, findStateDir, PlainError } from './local-state.mjs'
import { runCli } from './run-cli.mjs'

/** @typedef {import('./doctor/finding.mjs').Finding} Finding */

const usage = 'Usage: npm run doctor [-- --json]'
const marks = { ok: 'ok     ', warning: 'warning', failed: 'FAILED ' }

await runCli(async () => {
  const words = process.argv.slice(2)
  if (words.some((word) => word !== '--json')) throw new PlainError(usage)
  const findings = await check(process.env)
  const hasFailed = findings.some(({ state }) => state === 'failed')
  if (words.includes('--json')) console.log(JSON.stringify({ ok: !hasFailed, findings }, null, 2))
  else print(findings)
  if (hasFailed) process.exitCode = 1
})

/**
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<Finding[]>}
 */
async function check(env) {
  const stateDir = findStateDir(env)
  const settings = checkSettings(env)
  if (env.ROOKERY_URL) return [...settings, ...(await checkReachable(stateDir, env))]
  const machine = [
    ...settings,
    ...checkKeys(stateDir, env),
    await checkDisk(stateDir),
    ...checkVersions(stateDir),
  ]
  if (findRunningHub(stateDir) === null) {
    const says = `No hub runs on ${stateDir}, so agents and providers are not checked.`
    return [...machine, warn('hub', says, 'Start it with `npm start`, or set ROOKERY_URL.')]
  }
  return [...machine, ...(await checkReachable(stateDir, env))]
}

/**
 * @param {string} stateDir
 * @param {Record<string, string | undefined>} env
 */
async function checkReachable(stateDir, env) {
  if (findAdminKey(stateDir, env) !== null) return checkHub(connect(env))
  return [fail('hub', 'There is no admin key.', 'Set ROOKERY_ADMIN_KEY.')]
}

/** @param {Finding[]} findings */
function print(findings) {
  for (const { check: name, state, says, fix } of findings) {
    console.log(`${marks[state]}  ${name}: ${says}`)
    if (fix !== null) console.log(`         ${fix}`)
  }
  const count = (/** @type {string} */ state) =>
    findings.filter((finding) => finding.state === state).length
  console.log(`\n${count('failed')} failed, ${count('warning')} warnings, ${count('ok')} ok`)
}
