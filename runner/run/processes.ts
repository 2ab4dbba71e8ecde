import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** Names the run in the environment of all its processes, so that each is found, whoever its parent is by now. */
export const markerName = 'ROOKERY_RUN'

/** Returns what marks the processes of the attempt that has this folder. */
export const toMarker = (runFolder: string): string =>
  createHash('sha256').update(runFolder).digest('hex').slice(0, 32)

/** Starts a program in a process group of its own, with no other environment than the given. */
export const startGroup = (
  command: string[],
  options: { cwd: string; env: Record<string, string> },
): ChildProcessWithoutNullStreams =>
  spawn(command[0] ?? '', command.slice(1), { ...options, detached: true, stdio: 'pipe' })

/** Kills the process group, and what has left it but carries the run's marker. Returns how many of those there were. */
export async function killGroup(pid: number | undefined, marker: string): Promise<number> {
  if (pid !== undefined) kill(-pid)
  const strays = new Set<number>()
  for (let round = 0; round < 20; round++) {
    const left = findMarked(marker)
    if (left.length === 0) break
    // The group's own processes need a moment to end.
    if (round > 1) {
      for (const each of left) {
        strays.add(each)
        kill(each)
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return strays.size
}

/** Returns the processes whose environment has the marker. Empty where there is no `/proc`. */
function findMarked(marker: string): number[] {
  const wanted = Buffer.from(`${markerName}=${marker}\0`)
  return listProcesses().filter((pid) => {
    try {
      return (
        pid !== process.pid &&
        readFileSync(`/proc/${pid}/environ`).includes(wanted) &&
        !isZombie(pid)
      )
    } catch {
      return false
    }
  })
}

function listProcesses(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
  } catch {
    return []
  }
}

const isZombie = (pid: number): boolean =>
  / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/, ''))

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
