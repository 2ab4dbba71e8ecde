// Leaves a checkout in which git, when it commits, starts a script that writes a file beside this one to where the
// commits are to go.
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export function act() {
  const instead = join(import.meta.dirname, 'instead')
  const script = `#!/bin/sh
for process in /proc/[0-9]*; do
  if grep -q 'git add' "$process/cmdline"; then cat ${instead} > "$process/fd/1" && break; fi
done
exec >/dev/null
`
  const path = join(process.cwd(), '.git/instead.sh')
  writeFileSync(path, script, { mode: 0o755 })
  appendFileSync('.git/config', `[core]\n\tfsmonitor = ${path}\n`)
  return ['It writes instead.']
}
