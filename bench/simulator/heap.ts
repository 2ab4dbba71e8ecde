/** Min-heap of ids by key; the smaller id comes first among equal keys. */
export class Heap {
  readonly #keys: number[] = []
  readonly #ids: number[] = []

  get size(): number {
    return this.#ids.length
  }

  peekId(): number {
    return this.#ids[0] ?? -1
  }

  peekKey(): number {
    return this.#keys[0] ?? Number.POSITIVE_INFINITY
  }

  push(key: number, id: number): void {
    let at = this.#ids.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(key, id, parent)) break
      this.#move(parent, at)
      at = parent
    }
    this.#put(at, key, id)
  }

  pop(): number {
    const top = this.peekId()
    const key = this.#keys.pop()
    const id = this.#ids.pop()
    if (key === undefined || id === undefined || this.size === 0) return top
    let at = 0
    for (let child = 1; child < this.size; child = 2 * at + 1) {
      if (child + 1 < this.size && this.#isBefore(this.#key(child + 1), this.#id(child + 1), child))
        child++
      if (this.#isBefore(key, id, child)) break
      this.#move(child, at)
      at = child
    }
    this.#put(at, key, id)
    return top
  }

  #key(at: number): number {
    return this.#keys[at] ?? Number.POSITIVE_INFINITY
  }

  #id(at: number): number {
    return this.#ids[at] ?? -1
  }

  #isBefore(key: number, id: number, other: number): boolean {
    const otherKey = this.#key(other)
    return key < otherKey || (key === otherKey && id < this.#id(other))
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#key(from), this.#id(from))
  }

  #put(at: number, key: number, id: number): void {
    this.#keys[at] = key
    this.#ids[at] = id
  }
}
