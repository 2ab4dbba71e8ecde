#!/usr/bin/env node
// The command `rookery`. Plain JavaScript, so that an older Node can say what it needs.
import module from 'node:module'
import { join } from 'node:path'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `rookery needs Node 22.18 or newer, but this is ${process.versions.node}. ` +
      'In a clone, `npx --no-install rookery` uses the one that is installed there.',
  )
  process.exit(2)
}
// From the second time on the compiler that takes types out of scripts need not be loaded: that is over half of the work.
// Not in Node's own place for it, below /tmp, where somebody else could have put what would run here.
module.enableCompileCache?.(join(import.meta.dirname, '../dist/scripts'))
const { main } = await import('./command/main.ts')
process.exitCode = await main(process.argv.slice(2), process.env)
