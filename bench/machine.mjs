import { spawn } from 'node:child_process'
import { existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../scripts/local-state.mjs'

const settleMs = 10_000
/** Longer than the first start of a slow machine. */
const startMs = 120_000
const mib = 1024 * 1024

/**
 * What the hub takes of a machine: `start.idle_mib` is the memory of all processes of `npm start`, ten seconds after
 * it answered (proportional set size, so that shared pages count once); `install.*` are the packages it needs.
 */
export async function measureMachine() {
  return [...measureInstallation(), ...(await measureIdle())]
}

function measureInstallation() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const present = Object.entries(packages).filter(
    ([path, { dev }]) => path !== '' && !dev && isFolder(join(root, path)),
  )
  const bytes = present.reduce((sum, [path]) => sum + countBytes(join(root, path)), 0)
  return [
    { name: 'install.packages', value: present.length, unit: 'packages' },
    { name: 'install.mib', value: Math.round(bytes / mib), unit: 'MiB' },
  ]
}

/** @param {string} path */
const isFolder = (path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/**
 * Bytes of the files of one package, without the packages inside it.
 * @param {string} folder
 * @returns {number}
 */
function countBytes(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name)
    if (entry.isFile()) return sum + lstatSync(path).size
    return entry.isDirectory() && entry.name !== 'node_modules' ? sum + countBytes(path) : sum
  }, 0)
}

async function measureIdle() {
  const stateDir = mkdtempSync(join(tmpdir(), 'rookery-bench-idle-'))
  const child = spawn('npm', ['start'], {
    cwd: root,
    env: { ...process.env, PORT: '0', ROOKERY_STATE_DIR: stateDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  try {
    await new Promise((resolve, reject) => {
      let output = ''
      child.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${output}`)))
      setTimeout(() => reject(new Error(`npm start took too long:\n${output}`)), startMs).unref()
      child.stdout.on('data', (chunk) => {
        output += chunk
        if (output.includes('Sign in')) resolve(undefined)
      })
    })
    await new Promise((resolve) => setTimeout(resolve, settleMs))
    const kib = listTree(child.pid ?? 0).reduce((sum, pid) => sum + readPssKib(pid), 0)
    return [{ name: 'start.idle_mib', value: Math.round(kib / 1024), unit: 'MiB' }]
  } finally {
    const started = child.exitCode === null ? listTree(child.pid ?? 0) : []
    child.kill('SIGTERM')
    await ended
    // The hub ends after npm: it tells its watchers first.
    for (let waits = 0; waits < 100 && started.some(hasProcess); waits++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    rmSync(stateDir, { recursive: true, force: true })
  }
}

/**
 * A process and its descendants.
 * @param {number} pid
 * @returns {number[]}
 */
function listTree(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return [pid, ...children.filter(Boolean).flatMap((child) => listTree(Number(child)))]
}

/** @param {number} pid */
const hasProcess = (pid) => existsSync(`/proc/${pid}`)

/** @param {number} pid */
const readPssKib = (pid) =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
