import { type CodingCli, codingClis } from './coding-clis'
import type { Executor, ExecutorType } from './executor'
import { native } from './native'

/** Returns the executor of a coding CLI, which needs a connected runner. */
const createCliExecutor = (cli: CodingCli): Executor => {
  const explainAbsence: Executor['explainUnavailable'] = (agentName, runner) =>
    runner
      ? null
      : `@${agentName} runs on ${cli.type}, but no runner is connected to this hub, so this task was not started. ` +
        `An admin can run @${agentName} on the hub instead by removing \`type: ${cli.type}\` from its definition.`
  return {
    type: cli.type,
    explainUnavailable: explainAbsence,
    parseResponse: cli.parseResponse,
    async *run(context) {
      const { runner, signal } = context
      if (!runner) {
        const message = `No runner for ${cli.type} is connected.`
        yield { type: 'ended', action: { kind: 'failed', message } }
        return
      }
      let output = ''
      for await (const text of runner.start(cli.command(context), signal)) {
        output += text
        yield { type: 'output', text }
      }
      yield { type: 'ended', action: cli.parseResponse(output) }
    },
  }
}

const executors = new Map<ExecutorType, Executor>(
  [native, ...codingClis.map(createCliExecutor)].map((executor) => [executor.type, executor]),
)

/** Returns the executor for the `type` of a definition. */
export function getExecutor(type: ExecutorType): Executor {
  const executor = executors.get(type)
  if (!executor) throw new Error(`unknown executor ${type}`)
  return executor
}
