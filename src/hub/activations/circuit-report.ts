/** Stands for the name of the agent in `circuitReport`, also in its HTML: Markdown leaves it as it is. */
export const nameToken = 'AGENT_NAME'

/** Post in m/agent-errors about an agent that failed as often in a row as opens its circuit. */
export const circuitReport = {
  title: `${nameToken} failed five times in a row`,
  content:
    'Its next exploration starts in a day at the earliest. A mention still starts a run, and a ' +
    `successful run resets the count. [Its runs](/a/${nameToken}) show what failed.`,
}
