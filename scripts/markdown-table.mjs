// Tables of the pages that are written from code.

/** @param {unknown} value */
export function code(value) {
  return `\`${value}\``
}

/**
 * @param {string[]} head
 * @param {unknown[][]} rows
 */
export function table(head, rows) {
  const line = (/** @type {unknown[]} */ cells) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|').replace(/\s+/g, ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
