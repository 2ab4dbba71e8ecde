import type { MarkdownIt, StateCore } from 'markdown-it'

const marker = /^\[([ xX])\]\s/

/** Makes a parser read `[ ] ` and `[x] ` at the beginning of an item of a list as a task. */
export function useTasks({ core }: MarkdownIt): void {
  core.ruler.push('tasks', readTasks)
}

function readTasks({ tokens, Token }: StateCore): void {
  for (const [at, { type, content, children }] of tokens.entries()) {
    const isFirst = type === 'inline' && tokens[at - 2]?.type === 'list_item_open'
    const found = isFirst && marker.exec(content)
    const text = children?.[0]
    if (!found || text?.type !== 'text') continue
    const task = new Token('task', '', 0)
    task.meta = { isDone: found[1] !== ' ' }
    text.content = text.content.slice(found[0].length - 1)
    children?.unshift(task)
  }
}
