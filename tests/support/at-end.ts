/** What is closed after the tests of a file, so that nothing of it goes on during those of the next one. */
const open: (() => Promise<unknown>)[] = []

export function closeAtEnd(close: () => Promise<unknown>): void {
  open.push(close)
}

export async function closeAll(): Promise<void> {
  await Promise.allSettled(open.splice(0).map((close) => close()))
}
