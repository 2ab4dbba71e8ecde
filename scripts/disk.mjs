// How much room the disk of a hub on this machine has: for the hub itself, the launcher's warning and the doctor.
import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'

export const megabyte = 1024 * 1024
/**
 * Free bytes. Below `enough` an operator should know; below `least` a large write can fail; below `none` SQLite's log
 * cannot grow by what one write takes.
 */
const freeBytes = { enough: 1024 * megabyte, least: 100 * megabyte, none: 4 * megabyte }

/** As the hub reads it from its binding. @typedef {{ state: 'ok' | 'low' | 'critical' | 'full', free_bytes: number }} Disk */

/**
 * @param {string} path a folder that may not exist yet; then `fallback` is looked at
 * @param {string} [fallback]
 * @returns {Promise<Disk>}
 */
export async function readDisk(path, fallback = '/') {
  const { bavail, bsize } = await statfs(existsSync(path) ? path : fallback)
  const free = bavail * bsize
  const state = free >= freeBytes.enough ? 'ok' : free >= freeBytes.least ? 'low' : 'critical'
  return { state: free < freeBytes.none ? 'full' : state, free_bytes: free }
}

const warnings = {
  low: 'Free some space soon.',
  critical: 'Free some space now: large writes can fail.',
  full: 'Nothing can be saved until there is space again. What was saved is safe.',
}

/**
 * Warns once each time the disk gets fuller, and says when it has room again.
 * @param {string} stateDir
 * @param {(text: string) => void} warn
 * @returns {() => Promise<void>} looks at the disk now
 */
export function watchDisk(stateDir, warn) {
  const levels = ['ok', 'low', 'critical', 'full']
  /** @type {Disk['state']} */
  let last = 'ok'
  return async () => {
    const disk = await readDisk(stateDir).catch(() => null)
    if (disk === null || disk.state === last) return
    const says = `${Math.floor(disk.free_bytes / megabyte)} MB are free for ${stateDir}.`
    if (disk.state === 'ok') warn(`  Disk       ${says}`)
    else if (levels.indexOf(disk.state) > levels.indexOf(last))
      warn(`  Disk       ${says} ${warnings[disk.state]}`)
    last = disk.state
  }
}
