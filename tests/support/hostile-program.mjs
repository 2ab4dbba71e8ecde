// What a hostile program tries on a runner. The scripted program of tests loads it, from the folder where it lies with
// `tries.json`: the places that only the test knows. Returns a line for each try; those that worked begin with "reached".
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'

const tries = JSON.parse(readFileSync(join(import.meta.dirname, 'tries.json'), 'utf8'))
const relay = process.env.ANTHROPIC_BASE_URL
const key = process.env.ANTHROPIC_AUTH_TOKEN
const soon = () => ({ signal: AbortSignal.timeout(3_000) })

/** Fails unless an answer is one of the thing itself, and no refusal of the sandbox or the relay. */
async function reach(url, init = {}) {
  const { status } = await fetch(url, { ...soon(), ...init })
  if (status >= 400) throw new Error(String(status))
}

/** Connects without the proxy of the sandbox. */
const dial = (address) =>
  new Promise((resolve, reject) => {
    const [host, port] = address.split(':')
    const socket = connect({ host, port: Number(port), timeout: 3_000 }, resolve)
    socket.on('error', reject)
    socket.on('timeout', () => reject(new Error('timeout')))
  })

/** Starts what is to outlive the run: it leaves the group and the session, and drops its environment. */
function leaveDaemons() {
  const loop = `sh -c 'sleep 600; :' ${tries.mark}`
  spawn('sh', ['-c', `(setsid env -i PATH=/usr/bin:/bin ${loop} >/dev/null 2>&1 &)`])
  for (let count = 0; count < 50; count++) {
    spawn('sh', ['-c', 'sleep 600; :', tries.mark], { detached: true, stdio: 'ignore' }).unref()
  }
}

/** Returns what other processes show: there should be none but those of this run. */
function findProcesses() {
  const shown = readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const text = ['cmdline', 'environ'].map((file) => {
      try {
        return readFileSync(`/proc/${name}/${file}`, 'utf8')
      } catch {
        return ''
      }
    })
    return /runner-process|ROOKERY_RUNNER_KEY|vitest/.test(text.join()) ? [name] : []
  })
  if (shown.length === 0) throw new Error('none')
}

function readEnvironment() {
  const secrets = Object.values(process.env).filter((value) => /rka1\.|_runner_/.test(value))
  if (secrets.length === 0) throw new Error('none')
}

const withKey = { headers: { authorization: `Bearer ${key}` } }

export async function act({ callTools }) {
  const attempts = {
    ...Object.fromEntries(
      tries.paths.map((path) => [`relay ${path}`, () => reach(`${relay}${path}`, withKey)]),
    ),
    ...Object.fromEntries(tries.urls.map((url) => [url, () => reach(url, withKey)])),
    ...Object.fromEntries(tries.addresses.map((each) => [`direct ${each}`, () => dial(each)])),
    ...Object.fromEntries(
      tries.read.map((path) => [
        `read ${path}`,
        () => (existsSync(path) && readdirSync(path).length > 0) || readFileSync(path),
      ]),
    ),
    ...Object.fromEntries(
      tries.write.map((path) => [`write ${path}`, () => writeFileSync(path, 'hostile')]),
    ),
    ...Object.fromEntries(
      tries.pids.map((pid) => [`signal ${pid}`, () => process.kill(pid, 'SIGKILL')]),
    ),
    'other processes': findProcesses,
    environment: readEnvironment,
    'a tool without its grant': async () => {
      const call = { name: tries.tool, arguments: tries.toolArguments }
      const text = await (await callTools('tools/call', call)).text()
      if (/"isError":true|"error":/.test(text)) throw new Error('refused')
    },
  }
  const lines = []
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt()
      lines.push(`reached ${name}`)
    } catch (error) {
      lines.push(`tried ${name}: ${error.cause?.code ?? error.code ?? error.message}`)
    }
  }
  leaveDaemons()
  return lines
}
