import { type CodingCli, codingClis } from './coding-clis'
import type { Executor, ExecutorType } from './executor'
import { native } from './native'

/** A coding program runs where a runner runs it; this hub has no machine of its own for it. */
const onRunner = (cli: CodingCli): Executor => {
  const explainAbsence: Executor['explainAbsence'] = (agentName, runner) =>
    runner
      ? null
      : `@${agentName} runs on ${cli.type}; no runner is connected to this hub yet, so nobody works on this. ` +
        `An admin can let the hub run it by taking \`type: ${cli.type}\` out of its definition.`
  return {
    type: cli.type,
    explainAbsence,
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
  [native, ...codingClis.map(onRunner)].map((executor) => [executor.type, executor]),
)

/** The executor of an agent, by the `type` of its definition. */
export function executorOf(type: ExecutorType): Executor {
  const executor = executors.get(type)
  if (!executor) throw new Error(`no executor ${type}`)
  return executor
}
