// A runner in a process of its own, so that tests can kill it. Its options are the last argument.
import { createLog } from '../../runner/log.ts'
import { Runner } from '../../runner/serve.ts'

const options = JSON.parse(process.argv.at(-1) ?? '{}')
const runner = new Runner({ ...options, log: createLog(process.stderr) })
process.once('SIGTERM', () => void runner.stop())
await runner.run()
